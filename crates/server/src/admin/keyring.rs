//! Whose token is whose.

use super::caller::Caller;
use super::guard::Bearer;
use super::role::Role;
use crate::http::Problem;
use crate::resp::Password;

/// Every token that opens this door.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    /// The one that the settings name: its holder may do everything.
    configured: Option<Password>,
}

/// Why a token is nobody's.
#[derive(Debug)]
pub(crate) enum NoHolder {
    /// There is none such; or there is one of this name, and the secret is wrong.
    Unknown,
    /// It is right, and its time is over.
    Expired,
    /// It is right, and was revoked.
    Revoked,
    /// Nobody knows at this moment.
    Unavailable(Problem),
}

impl Keyring {
    /// The token of the settings, if they have one.
    pub(crate) fn new(configured: Option<Password>) -> Keyring {
        Keyring { configured }
    }

    /// Who holds a token.
    pub(crate) async fn holder(&self, token: Bearer<'_>) -> Result<Caller, NoHolder> {
        let is_configured = self.configured.as_ref().is_some_and(|known| known.is(token.as_str().as_bytes()));
        if is_configured {
            let token = Some("settings".to_owned());
            return Ok(Caller { name: "settings".to_owned(), token, role: Role::Admin });
        }
        Err(NoHolder::Unknown)
    }

    /// Whether there is no token at all.
    pub(crate) async fn is_empty(&self) -> Result<bool, Problem> {
        Ok(self.configured.is_none())
    }
}
