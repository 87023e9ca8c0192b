//! The promises of every algorithm as properties of generated cases, each over as many seeds as the caller can afford.

pub(crate) mod any_algorithm;
pub(crate) mod any_input;
pub(crate) mod bucket;
pub(crate) mod concurrency;
pub(crate) mod demands;
pub(crate) mod fixed_window;
pub(crate) mod leaky_bucket;
pub(crate) mod leaky_changes;
pub(crate) mod refunds;
pub(crate) mod rulers;
pub(crate) mod sliding_counter;
pub(crate) mod sliding_counter_bounds;
pub(crate) mod sliding_log;
