//! What may be done with a token.

use std::fmt;

use serde::Serialize;

/// What may be done with a token. Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks at everything.
    Viewer,
    /// Handles an incident: orders, resets, grants.
    Operator,
    /// Changes rules, and makes tokens.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// As it was written.
    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Role;

    #[test]
    fn each_role_may_do_what_those_before_it_may() {
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
        assert!(Role::ALL.into_iter().all(|role| Role::parse(role.as_str()) == Some(role)));
        assert_eq!(Role::parse("root"), None);
    }
}
