//! Who asks.

use http::StatusCode;
use tollgate_records::{Author, Role};

use super::session::SessionDigest;
use crate::http::Problem;

/// What somebody is called of whom nothing is known.
const STRANGER: &str = "stranger";

/// Somebody who may be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// What the audit trail calls them: the name of their token.
    pub(crate) name: String,
    /// Number of the token; `None` for a Unix socket while there is no token at all, and for requests to the open playground.
    pub(crate) token: Option<String>,
    pub(crate) role: Role,
    /// By which session they ask; none if they sent the token itself, or have none.
    pub(super) session: Option<SessionDigest>,
}

impl Caller {
    /// A Unix socket while no token is configured at all: may read.
    pub(super) fn local() -> Caller {
        Caller { name: "local".to_owned(), token: None, role: Role::Viewer, session: None }
    }

    /// Somebody of whom nothing is known, at a route that takes them.
    pub(super) fn stranger() -> Caller {
        Caller { name: STRANGER.to_owned(), ..Caller::local() }
    }

    /// Whether nothing is known of them: no token, and no Unix socket while there is none.
    pub(super) fn is_stranger(&self) -> bool {
        self.token.is_none() && self.name == STRANGER
    }

    /// How they sign: with the name and the number of their token, so that no two sign alike.
    pub(super) fn author(&self) -> Author {
        match &self.token {
            // The token of the settings has no number, and no other has its name.
            Some(token) if *token != self.name => Author::of_token(&self.name, token),
            _ => Author::new(&self.name),
        }
    }

    /// Whether they may do what takes this role.
    pub(super) fn check_role(&self, needed: Role) -> Result<(), Problem> {
        if self.role >= needed {
            return Ok(());
        }
        if self.token.is_none() {
            let detail = format!(
                "no token is configured, so nothing may be changed; create one with `tollgate token create --role {needed}` and \
                 send it as `Authorization: Bearer …`"
            );
            let problem = Problem::new(StatusCode::UNAUTHORIZED, detail).because("no_token_configured");
            return Err(problem.with_header("www-authenticate", "Bearer realm=\"tollgate\""));
        }
        let detail = format!(
            "this takes the role {needed}, and the token `{}` has the role {}; use another, or create one with \
             `tollgate token create --role {needed}`",
            self.name, self.role
        );
        Err(Problem::new(StatusCode::FORBIDDEN, detail).because("role_too_low"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_do_more_may_do_all_that_is_less() {
        let roles = [Role::Viewer, Role::Operator, Role::Admin];
        for (has, role) in roles.into_iter().enumerate() {
            let caller = Caller { name: "ann".to_owned(), token: Some("a".to_owned()), role, session: None };
            for (needs, needed) in roles.into_iter().enumerate() {
                let told = caller.check_role(needed).map_err(|problem| problem.status.as_u16());
                assert_eq!(told, if has >= needs { Ok(()) } else { Err(403) }, "{role} {needed}");
            }
        }
        assert_eq!(Caller::local().check_role(Role::Operator).unwrap_err().status.as_u16(), 401);
    }
}
