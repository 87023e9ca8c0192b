//! The limiter of rules that only watch: a table of its own, so that they take no room from rules that are enforced (A4).

use std::sync::OnceLock;

use super::UNCHECKED;
use super::error::PolicyError;
use crate::{Limiter, LimiterBuilder};

/// A limiter that is made when the first rule watches; until then it takes no memory.
#[derive(Debug)]
pub(super) struct ShadowLimiter {
    builder: LimiterBuilder,
    limiter: OnceLock<Limiter>,
}

impl ShadowLimiter {
    /// One that will be made with the settings of the enforcing limiter, and by its clock.
    pub(super) fn beside(builder: LimiterBuilder) -> ShadowLimiter {
        ShadowLimiter { builder, limiter: OnceLock::new() }
    }

    /// The limiter, if any rule has watched yet.
    pub(super) fn get(&self) -> Option<&Limiter> {
        self.limiter.get()
    }

    /// The limiter, made now if there is none. Only by whoever swaps the policy.
    pub(super) fn make(&self) -> Result<&Limiter, PolicyError> {
        if let Some(limiter) = self.limiter.get() {
            return Ok(limiter);
        }
        let made = self.builder.clone().build(UNCHECKED).map_err(PolicyError::Build)?;
        Ok(self.limiter.get_or_init(|| made))
    }
}
