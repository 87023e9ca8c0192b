//! Whose token is whose: those on record, and the one that the settings may name.

use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_records::{Records, Role, TokenCheck, TokenRecord};

use super::caller::Caller;
use super::guard::Bearer;
use super::known_tokens::KnownTokens;
use super::on_record::refused;
use crate::http::Problem;
use crate::resp::Password;

/// What the holder of the token of the settings is called.
const OF_SETTINGS: &str = "settings";

/// Every token that opens this door.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    /// The one that the settings name: its holder may do everything.
    configured: Option<Password>,
    records: Option<Records>,
    /// Whether any token was ever seen on record. Tokens are revoked, and stay.
    is_any_on_record: AtomicBool,
    known: KnownTokens,
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
    /// The tokens on record, and that of the settings.
    pub(crate) fn new(configured: Option<Password>, records: Option<Records>) -> Keyring {
        Keyring { configured, records, ..Keyring::default() }
    }

    /// Who holds a token. How long it takes tells nothing of what is right about it.
    pub(super) async fn holder(&self, token: Bearer<'_>) -> Result<Caller, NoHolder> {
        if self.is_configured(token) {
            let name = OF_SETTINGS.to_owned();
            return Ok(Caller { token: Some(name.clone()), name, role: Role::Admin, session: None });
        }
        let Some(records) = &self.records else { return Err(NoHolder::Unknown) };
        let check = records.check_token(token.as_str()).await;
        if let Ok(check) = &check {
            self.known.note(token, matches!(check, TokenCheck::Good(_)));
        }
        match check {
            Ok(TokenCheck::Good(known)) => {
                let TokenRecord { name, token_id, role, .. } = known;
                Ok(Caller { name, token: Some(token_id), role, session: None })
            }
            Ok(TokenCheck::Unknown) => Err(NoHolder::Unknown),
            Ok(TokenCheck::Expired(_)) => Err(NoHolder::Expired),
            Ok(TokenCheck::Revoked(_)) => Err(NoHolder::Revoked),
            Err(error) => Err(NoHolder::Unavailable(refused(&error))),
        }
    }

    fn is_configured(&self, token: Bearer<'_>) -> bool {
        self.configured.as_ref().is_some_and(|known| known.is(token.as_str().as_bytes()))
    }

    /// Whether this very token was right before. Asks no database.
    pub(super) fn is_proven(&self, token: Bearer<'_>) -> bool {
        self.is_configured(token) || self.known.is_proven(token)
    }

    /// Whether it is worth a look whether a token is right: there is one of its number. Asks the database once a second at most.
    pub(super) async fn may_be_right(&self, token: Bearer<'_>) -> bool {
        let (Some(records), Some(token_id)) = (&self.records, token.token_id()) else { return false };
        self.known.stands(records, token_id).await.unwrap_or(false)
    }

    /// Whether somebody who was let in still may ask, as far as is known: while the database is away, nobody is sent away.
    pub(super) async fn still_knows(&self, caller: &Caller) -> bool {
        match (&caller.token, &self.records) {
            (None, _) => self.is_empty().await.unwrap_or(true),
            (Some(token_id), Some(records)) if token_id != OF_SETTINGS => {
                self.known.still_stands(records, token_id).await.unwrap_or(true)
            }
            _ => true,
        }
    }

    /// Whether there is no token at all, and never was.
    pub(super) async fn is_empty(&self) -> Result<bool, Problem> {
        if self.configured.is_some() || self.is_any_on_record.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some(records) = &self.records else { return Ok(true) };
        let is_any = !records.tokens().await.map_err(|error| refused(&error))?.is_empty();
        self.is_any_on_record.fetch_or(is_any, Ordering::Relaxed);
        Ok(!is_any)
    }
}
