//! Waiting for tokens: `acquire`, for tasks and for threads.
//!
//! Whoever waits has booked its tokens: the bucket is charged ahead of its meter, so nobody else is admitted first. The queue
//! says who leaves next and when; it is touched only by those who wait.

mod acquire;
mod blocking;
mod bucket_key;
mod error;
#[cfg(feature = "tokio")]
mod future;
mod giving;
mod place;
mod queue;
mod queues;
mod service;

pub use acquire::{Acquire, Acquired, WAITERS_DEFAULT};
pub use error::AcquireError;
#[cfg(loom)]
pub(crate) use place::{Place, Terms, Turn};
pub(crate) use queues::Queues;
pub use queues::WAITERS_MAX;
pub use service::LATENESS_MAX;
