//! The promises of the arithmetic as properties of generated cases, each over as many seeds as the caller can afford.

pub(crate) mod any_limit;
pub(crate) mod changes_and_restarts;
pub(crate) mod clock_steps;
pub(crate) mod one_bucket;
pub(crate) mod several_buckets;
pub(crate) mod stamped_buckets;
pub(crate) mod ten_years;
