//! Reading the rule set, and making a version of what was changed by SQL.

use super::{Content, Entry, PlainRow, RowTerms, RuleSet, Version, hash, storing};
use crate::author::BY_HAND;
use crate::session::{Row, Session};
use crate::{Author, Records, RecordsError, decimal_text};

const BY_HAND_COMMENT: &str = "changed by SQL";

/// The content, its text and hash, and the version that is kept of it or of an earlier one.
pub(super) struct Seen {
    pub(super) content: Content,
    pub(super) json: String,
    pub(super) hash: String,
    pub(super) latest: Option<Version>,
}

impl Seen {
    /// The number of the latest version, 0 before the first.
    pub(super) fn version(&self) -> i64 {
        self.latest.as_ref().map_or(0, |latest| latest.version)
    }

    /// Whether the latest version says what the tables say.
    pub(super) fn is_versioned(&self) -> bool {
        match &self.latest {
            Some(latest) => latest.hash == self.hash,
            None => self.content == Content::default(),
        }
    }

    pub(super) fn into_rule_set(self, revision: i64) -> RuleSet {
        let (version, is_unversioned) = (self.version(), !self.is_versioned());
        RuleSet { version, revision, is_unversioned, entries: self.content.entries, rows: self.content.rows }
    }
}

impl Records {
    /// The rule set as it is. What was changed by SQL becomes a version by `sql` here, when it is first seen.
    pub async fn rule_set(&self) -> Result<RuleSet, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let revision = revision(&mut session).await?;
            let seen = see(&mut session).await?;
            drop(session);
            if seen.is_versioned() {
                return Ok(seen.into_rule_set(revision));
            }
            // Rules are in force whether or not they can be made a version.
            match self.adopt().await {
                Ok(rule_set) => Ok(rule_set),
                Err(error) => {
                    tracing::debug!(%error, "rules that were changed by SQL are no version yet");
                    Ok(seen.into_rule_set(revision))
                }
            }
        })
        .await
    }

    /// Makes a version of a change by SQL, unless another instance did meanwhile.
    async fn adopt(&self) -> Result<RuleSet, RecordsError> {
        let mut session = self.write().await?;
        let revision = session.take_turn().await?;
        let seen = see(&mut session).await?;
        if seen.is_versioned() {
            return Ok(seen.into_rule_set(revision - 1));
        }
        let seen = adopt(&mut session, seen).await?;
        self.commit(session).await?;
        Ok(seen.into_rule_set(revision))
    }
}

/// Makes a version of what the tables say, in somebody's turn.
pub(super) async fn adopt(session: &mut Session, seen: Seen) -> Result<Seen, RecordsError> {
    if seen.is_versioned() {
        return Ok(seen);
    }
    let before = match &seen.latest {
        Some(latest) => storing::stored(session, latest.version).await?,
        None => Content::default(),
    };
    let number = seen.version() + 1;
    let author = Author::new(BY_HAND);
    let version = storing::keep(session, number, &author, BY_HAND_COMMENT, &seen).await?;
    storing::audit(session, "rules.sql", &version, &before, &seen.content, &author).await?;
    Ok(Seen { latest: Some(version), ..seen })
}

/// Reads tables and latest version, in one state of the database or in one's own turn.
pub(super) async fn see(session: &mut Session) -> Result<Seen, RecordsError> {
    let entries =
        session.rows("SELECT name, text, is_active, description FROM tollgate_entries", &[]).await?;
    let mut entries = entries.iter().map(read_entry).collect::<Result<Vec<_>, _>>()?;
    // Here, not there: databases sort by their languages.
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let rows = session
        .rows(
            "SELECT rule_id, key_pattern, scope, CAST(rate_per_second AS TEXT) AS rate_per_second, \
             CAST(burst_capacity AS TEXT) AS burst_capacity, plan, is_active, description FROM rate_limit_rules ORDER BY rule_id",
            &[],
        )
        .await?;
    let rows = rows.iter().map(read_row).collect::<Result<Vec<_>, _>>()?;
    let latest = "SELECT version, author, comment, created_at, hash FROM tollgate_versions ORDER BY version DESC LIMIT 1";
    let latest = session.row(latest, &[]).await?.as_ref().map(Version::read).transpose()?;
    let content = Content { entries, rows };
    let json = content.to_json()?;
    let hash = hash(&json);
    Ok(Seen { content, json, hash, latest })
}

async fn revision(session: &mut Session) -> Result<i64, RecordsError> {
    let row = session.row("SELECT revision FROM tollgate_revision", &[]).await?;
    row.map_or(Ok(0), |row| row.get("revision"))
}

fn read_entry(row: &Row) -> Result<Entry, RecordsError> {
    Ok(Entry {
        name: row.text("name")?.unwrap_or_default(),
        text: row.text("text")?.unwrap_or_default(),
        is_active: row.get("is_active")?,
        description: row.text("description")?,
    })
}

fn read_row(row: &Row) -> Result<PlainRow, RecordsError> {
    let number = |column| {
        let text: String = row.get(column)?;
        // What is no number of ours is for the judge to complain about.
        Ok::<_, RecordsError>(decimal_text::canonical(&text).unwrap_or(text))
    };
    let terms = RowTerms {
        key_pattern: row.text("key_pattern")?.unwrap_or_default(),
        scope: row.text("scope")?.unwrap_or_default(),
        rate_per_second: number("rate_per_second")?,
        burst_capacity: number("burst_capacity")?,
        plan: row.text("plan")?,
        is_active: row.get("is_active")?,
        description: row.text("description")?,
    };
    Ok(PlainRow { rule_id: row.get("rule_id")?, terms })
}
