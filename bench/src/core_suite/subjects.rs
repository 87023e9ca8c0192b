//! One file per limiter: how it is built and how one check is spelled.

mod governor;
mod mutex_hashmap;
mod throttlecrab;
mod tollgate;

pub(crate) use governor::Governor;
pub(crate) use mutex_hashmap::MutexHashMap;
pub(crate) use throttlecrab::Throttlecrab;
pub(crate) use tollgate::{Tollgate, limit_of};
