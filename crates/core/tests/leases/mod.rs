//! The promises of leases as properties of generated histories, each over as many seeds as the caller can afford.

pub(crate) mod adversary;
pub(crate) mod doubles;
pub(crate) mod fleet;
pub(crate) mod mistake;
pub(crate) mod saturation;
pub(crate) mod script_in_doubles;
