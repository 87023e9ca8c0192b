//! Whom the program itself has authenticated.

use std::sync::Arc;

/// Whom a program has authenticated, put into the request's extensions by a layer outside of this one. Where there is one,
/// the user and the plan of a token count for nothing; its other claims still do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Principal {
    /// Who it is; `None`: nobody is known, only the plan.
    pub user: Option<Arc<str>>,
    /// What that one has paid for.
    pub plan: Option<Arc<str>>,
}

impl Principal {
    /// A user of no particular plan.
    pub fn user(name: impl Into<Arc<str>>) -> Principal {
        Principal { user: Some(name.into()), plan: None }
    }

    /// The same on this plan.
    #[must_use]
    pub fn on_plan(self, plan: impl Into<Arc<str>>) -> Principal {
        Principal { plan: Some(plan.into()), ..self }
    }
}
