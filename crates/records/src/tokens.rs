//! Tokens of the admin door: shown once, kept as a hash, compared in a time that tells nothing.

mod role;
mod token_hashes;
mod token_record;
mod token_secret;

pub use role::Role;
pub use token_hashes::TokenHashes;
pub use token_record::TokenRecord;
pub use token_secret::TokenSecret;

use token_secret::Presented;

use crate::audit::{self, AuditNote};
use crate::author::RESERVED;
use crate::limits;
use crate::session::{Session, Value};
use crate::{Author, NAME_BYTES_MAX, REASON_BYTES_MAX, Records, RecordsError, TOKENS_MAX, Timestamp};

/// How often the time of a token's last use is written at most, in microseconds.
const LAST_USED_EVERY_MICROS: i64 = 60_000_000;

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What it is called: it is the author of what is done with it.
    pub name: String,
    /// What may be done with it.
    pub role: Role,
    /// When it ends by itself; `None` is never.
    pub expires_at: Option<Timestamp>,
}

/// What came of looking at a token. Callers answer all but the first alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenCheck {
    /// It is good.
    Good(TokenRecord),
    /// There is none like it.
    Unknown,
    /// It was, until its date.
    Expired(TokenRecord),
    /// It was, until it was revoked.
    Revoked(TokenRecord),
}

impl Records {
    /// Makes a token. The secret is shown now, and never again.
    pub async fn create_token(
        &self,
        new: &NewToken,
        author: &Author,
    ) -> Result<(TokenSecret, TokenRecord), RecordsError> {
        limits::text("name", &new.name, NAME_BYTES_MAX)?;
        if let Some((name, signs)) = RESERVED.iter().find(|(name, _)| *name == new.name) {
            let why = format!("is `{name}`, which {signs}; choose another");
            return Err(RecordsError::Invalid { field: "name", why });
        }
        author.check()?;
        let now = Timestamp::now();
        if let Some(expires_at) = new.expires_at.filter(|expires_at| *expires_at <= now) {
            let why = format!("is {expires_at}, which is over; write a time to come, or leave it out");
            return Err(RecordsError::Invalid { field: "expires_at", why });
        }
        let secret = TokenSecret::random()?;
        self.within(async {
            let mut session = self.write().await?;
            session.take_turn().await?;
            check_name_is_free(&mut session, &new.name, now).await?;
            make_room(&mut session, now).await?;
            session
                .execute(
                    "INSERT INTO tollgate_tokens (token_id, name, role, hash, created_at, expires_at) \
                     VALUES ($1, $2, $3, $4, $5, $6)",
                    &[
                        secret.token_id().into(),
                        (&new.name).into(),
                        new.role.as_str().into(),
                        Value::Bytes(&secret.hash()),
                        now.into(),
                        new.expires_at.into(),
                    ],
                )
                .await?;
            let record = TokenRecord {
                token_id: secret.token_id().to_owned(),
                name: new.name.clone(),
                role: new.role,
                created_at: now,
                expires_at: new.expires_at,
                revoked_at: None,
                last_used_at: None,
            };
            let note = AuditNote {
                action: "token.create",
                target: &format!("token {}", record.token_id),
                after: Some(&record.to_json()),
                ..AuditNote::default()
            };
            audit::write(&mut session, &note, author).await?;
            self.commit(session).await?;
            Ok((secret, record))
        })
        .await
    }

    /// Every token, oldest first, those that ended among them.
    pub async fn tokens(&self) -> Result<Vec<TokenRecord>, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let rows =
                session.rows("SELECT * FROM tollgate_tokens ORDER BY created_at, token_id", &[]).await?;
            rows.iter().map(TokenRecord::read).collect()
        })
        .await
    }

    /// Returns the hashes of all tokens, for comparisons without the database.
    pub async fn token_hashes(&self) -> Result<TokenHashes, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let rows = session.rows("SELECT * FROM tollgate_tokens", &[]).await?;
            TokenHashes::read(&rows)
        })
        .await
    }

    /// Ends a token; why may be said. One that ended already stays so.
    pub async fn revoke_token(
        &self,
        token_id: &str,
        author: &Author,
        reason: Option<&str>,
    ) -> Result<TokenRecord, RecordsError> {
        author.check()?;
        reason.map_or(Ok(()), |reason| limits::text("reason", reason, REASON_BYTES_MAX))?;
        self.within(async {
            let mut session = self.write().await?;
            session.take_turn().await?;
            let find = "SELECT * FROM tollgate_tokens WHERE token_id = $1";
            let before = session.row(find, &[token_id.into()]).await?;
            let before = before.as_ref().map(TokenRecord::read).transpose()?.map(|before| before.to_json());
            let revoke = "UPDATE tollgate_tokens SET revoked_at = COALESCE(revoked_at, $1) WHERE token_id = $2 RETURNING *";
            let row = session.row(revoke, &[Timestamp::now().into(), token_id.into()]).await?;
            let Some(row) = row else {
                return Err(RecordsError::NotFound { what: format!("token \"{}\"", token_id.escape_debug()) });
            };
            let record = TokenRecord::read(&row)?;
            let note = AuditNote {
                action: "token.revoke",
                target: &format!("token {}", record.token_id),
                before: before.as_deref(),
                after: Some(&record.to_json()),
                reason,
            };
            audit::write(&mut session, &note, author).await?;
            self.commit(session).await?;
            Ok(record)
        })
        .await
    }

    /// Looks at what somebody presents as a token, in a time that does not tell how much of it is right.
    pub async fn check_token(&self, presented: &str) -> Result<TokenCheck, RecordsError> {
        let Some(presented) = Presented::parse(presented) else {
            return Ok(TokenCheck::Unknown);
        };
        let now = Timestamp::now();
        let (check, is_use_old) = self
            .within(async {
                let mut session = self.read().await?;
                let find = "SELECT * FROM tollgate_tokens WHERE token_id = $1";
                let row = session.row(find, &[presented.token_id.into()]).await?;
                // Hashed and compared in any case: whether there is such a token is not told by the time either.
                let stored: Vec<u8> = row.as_ref().map_or(Ok(Vec::new()), |row| row.get("hash"))?;
                let is_same = presented.is_hashed_by(&stored);
                let Some(row) = row.filter(|_| is_same) else {
                    return Ok::<_, RecordsError>((TokenCheck::Unknown, false));
                };
                let record = TokenRecord::read(&row)?;
                if record.revoked_at.is_some() {
                    return Ok((TokenCheck::Revoked(record), false));
                }
                if record.expires_at.is_some_and(|expires_at| expires_at <= now) {
                    return Ok((TokenCheck::Expired(record), false));
                }
                let last = record.last_used_at.map_or(i64::MIN, Timestamp::unix_micros);
                let is_use_old = now.unix_micros().saturating_sub(last) >= LAST_USED_EVERY_MICROS;
                Ok((TokenCheck::Good(record), is_use_old))
            })
            .await?;
        if is_use_old {
            self.note_use(presented.token_id, now).await;
        }
        Ok(check)
    }

    /// The date is for people who tidy up: a token is as good where it cannot be written.
    async fn note_use(&self, token_id: &str, now: Timestamp) {
        let written = self
            .within(async {
                let mut session = self.write().await?;
                let note = "UPDATE tollgate_tokens SET last_used_at = $1 WHERE token_id = $2";
                session.execute(note, &[now.into(), token_id.into()]).await?;
                session.commit().await
            })
            .await;
        if let Err(error) = written {
            tracing::debug!(%error, "the last use of a token was not written down");
        }
    }
}

/// Of the tokens that stand no two have one name. Here and not by an index: whether a token stands is a matter of time.
async fn check_name_is_free(session: &mut Session, name: &str, now: Timestamp) -> Result<(), RecordsError> {
    let find = "SELECT token_id FROM tollgate_tokens WHERE name = $1 AND revoked_at IS NULL \
                AND (expires_at IS NULL OR expires_at > $2) LIMIT 1";
    let Some(row) = session.row(find, &[name.into(), now.into()]).await? else { return Ok(()) };
    let token_id: String = row.get("token_id")?;
    let why = format!(
        "is \"{}\", and so is that of token {token_id}, which stands; choose another, or revoke that one first",
        name.escape_debug()
    );
    Err(RecordsError::Invalid { field: "name", why })
}

/// Room for one more: those that ended are forgotten where they stand in the way.
async fn make_room(session: &mut Session, now: Timestamp) -> Result<(), RecordsError> {
    if count(session).await? < TOKENS_MAX {
        return Ok(());
    }
    let forget = "DELETE FROM tollgate_tokens WHERE revoked_at IS NOT NULL OR expires_at <= $1";
    session.execute(forget, &[now.into()]).await?;
    limits::count("tokens", count(session).await? + 1, TOKENS_MAX)
}

async fn count(session: &mut Session) -> Result<usize, RecordsError> {
    let row = session.row("SELECT COUNT(*) AS tokens FROM tollgate_tokens", &[]).await?;
    let tokens: i64 = row.map_or(Ok(0), |row| row.get("tokens"))?;
    Ok(usize::try_from(tokens).unwrap_or(0))
}
