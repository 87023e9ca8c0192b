//! What a caller may do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// From least to most; whoever may do more may do all that is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Looks.
    Viewer,
    /// Handles incidents: buckets, orders, reloads.
    Operator,
    /// Changes rules and tokens.
    Admin,
}

impl Role {
    /// As tokens and answers have it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
