//! The exact models of the other algorithms: lists of what happened, in whole numbers, searched from end to end.
//!
//! Written to be believed at sight, not to be quick. They deliberately do not know words, generations, wrap-around or
//! rulers: they are what `tollgate_core::Ruler` and `tollgate_core::Log` are compared with.

mod calendar;
mod concurrency;
mod fixed_window;
mod leaky_bucket;
mod sliding_counter;
mod sliding_log;

pub use calendar::{CalendarModel, Cut};
pub use concurrency::PlacesModel;
pub use fixed_window::FixedWindowModel;
pub use leaky_bucket::{LeakyModel, worst_excess};
pub use sliding_counter::CounterModel;
pub use sliding_log::{LogModel, most_in_a_window};
