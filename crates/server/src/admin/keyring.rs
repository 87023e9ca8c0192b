//! The tokens of the admin API: those in the database, the one of the settings, and while there is neither, the viewer token of this start.
//!
//! A token that was seen once is remembered for the life of the process: a database that is deleted or replaced does not bring the viewer
//! token of the start back, and does not open a Unix socket.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use tollgate_records::{Records, Role, TokenCheck, TokenRecord};

use super::caller::Caller;
use super::guard::Bearer;
use super::known_tokens::KnownTokens;
use super::on_record::refused;
use super::start_token::{Offer, START, StartToken};
use crate::http::Problem;
use crate::resp::Password;

/// Name of the token of the settings.
const OF_SETTINGS: &str = "settings";
/// How often the database is asked for its first token.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Every token of this listener.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    /// The one that the settings name: its holder may do everything.
    configured: Option<Password>,
    records: Option<Records>,
    /// Valid while no other token exists. `None` where no TCP request can bring it.
    start: Option<StartToken>,
    /// Whether the database ever had a token, valid or not.
    is_any_seen: AtomicBool,
    known: KnownTokens,
}

/// Why a token is nobody's.
#[derive(Debug)]
pub(crate) enum NoHolder {
    /// There is none such; or there is one of this name, and the secret is wrong.
    Unknown,
    /// It is right, and its time is over.
    Expired,
    /// It is right, and was revoked; or the viewer token of the start has ended.
    Revoked,
    /// Nobody knows at this moment.
    Unavailable(Problem),
}

impl Keyring {
    /// The tokens on record, and that of the settings.
    pub(crate) fn new(configured: Option<Password>, records: Option<Records>) -> Keyring {
        Keyring { configured, records, ..Keyring::default() }
    }

    /// Adds a viewer token of this start, which is kept in `file`, unless the settings name a token.
    pub(super) fn with_start_token(mut self, file: Option<PathBuf>) -> Keyring {
        if self.configured.is_none() {
            self.start = StartToken::random(file);
            if self.start.is_none() {
                tracing::warn!(
                    error = "no random numbers on this machine",
                    fix = "set admin_token",
                    "viewer token not created"
                );
            }
        } else if let Some(file) = file {
            // A process that was killed may have left one.
            let _ = std::fs::remove_file(file);
        }
        self
    }

    /// Who holds a token. How long it takes tells nothing of what is right about it.
    pub(super) async fn holder(&self, token: Bearer<'_>) -> Result<Caller, NoHolder> {
        if self.is_configured(token) {
            let name = OF_SETTINGS.to_owned();
            return Ok(Caller { token: Some(name.clone()), name, role: Role::Admin, session: None });
        }
        if self.is_start(token) {
            let is_valid = self.is_empty().await.map_err(NoHolder::Unavailable)?;
            return if is_valid { Ok(StartToken::holder()) } else { Err(NoHolder::Revoked) };
        }
        let Some(records) = &self.records else { return Err(NoHolder::Unknown) };
        let check = records.check_token(token.as_str()).await;
        if let Ok(check) = &check {
            self.known.note(token, matches!(check, TokenCheck::Good(_)));
            if !matches!(check, TokenCheck::Unknown) {
                self.note_seen();
            }
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

    fn is_start(&self, token: Bearer<'_>) -> bool {
        self.start.as_ref().is_some_and(|start| start.is(token))
    }

    /// Whether this very token was right before. Asks no database.
    pub(super) fn is_proven(&self, token: Bearer<'_>) -> bool {
        self.is_configured(token) || self.is_start(token) || self.known.is_proven(token)
    }

    /// Returns whether a token is right by a list of hashes. Asks the database once a second at most, however often it is called.
    pub(super) async fn is_right(&self, token: Bearer<'_>) -> bool {
        let Some(records) = &self.records else { return false };
        self.known.is_right(records, token).await.unwrap_or(false)
    }

    /// Whether somebody who was let in still may ask, as far as is known: while the database is away, nobody is sent away.
    pub(super) async fn still_knows(&self, caller: &Caller) -> bool {
        match (caller.token.as_deref(), &self.records) {
            (None | Some(START), _) => self.is_empty().await.unwrap_or(true),
            (Some(token_id), Some(records)) if token_id != OF_SETTINGS => {
                self.known.still_stands(records, token_id).await.unwrap_or(true)
            }
            _ => true,
        }
    }

    /// Whether there is no token at all, and never was.
    pub(super) async fn is_empty(&self) -> Result<bool, Problem> {
        if self.configured.is_some() || self.is_any_seen.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some(records) = &self.records else { return Ok(true) };
        let is_any = !records.tokens().await.map_err(|error| refused(&error))?.is_empty();
        if is_any {
            self.note_seen();
        }
        // Another request may have seen a token meanwhile that is gone already.
        Ok(!self.is_any_seen.load(Ordering::Relaxed))
    }

    /// Remembers that the database had a token, which ends the viewer token of the start for good.
    fn note_seen(&self) {
        if !self.is_any_seen.swap(true, Ordering::Relaxed) {
            self.end_start_token();
        }
    }

    /// Returns the viewer token of this start with its file, if there is one. `None` once there is another token, or the database does
    /// not say.
    pub(super) async fn offer(&self) -> Option<Offer<'_>> {
        let is_empty = self.is_empty().await.unwrap_or(false);
        is_empty.then(|| self.start.as_ref().map(StartToken::offer).unwrap_or_default())
    }

    /// Asks the database for its first token until there is one; writes the file of the start's token once there is certainly none.
    pub(super) async fn watch(&self) {
        while self.configured.is_none() && !self.is_any_seen.load(Ordering::Relaxed) {
            let _ = self.offer().await;
            if self.records.is_none() {
                return;
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Removes the file of the start's token. The process ends, or another token was seen.
    pub(super) fn end_start_token(&self) {
        if let Some(start) = &self.start {
            start.end();
        }
    }

    /// The viewer token of this start, for tests that send it.
    #[cfg(test)]
    pub(super) fn start_token(&self) -> &str {
        self.start.as_ref().map_or("", StartToken::reveal)
    }
}
