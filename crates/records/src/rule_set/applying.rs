//! Changing the rule set: one after the other, each knowing what it changes, all of it or nothing.

use super::reading::{self, Seen};
use super::rule_set_change::Wanted;
use super::{ApplyError, Content, RuleSet, RuleSetChange, Version, storing};
use crate::limits;
use crate::session::Session;
use crate::{Author, REASON_BYTES_MAX, Records, Timestamp};

/// What a change is made with.
struct Making<'a> {
    author: &'a Author,
    comment: &'a str,
    /// As the audit trail calls it.
    action: &'static str,
}

impl Records {
    /// Changes the rule set that the caller knows as `base`. The `judge` is shown what would come of it, and says what is wrong with it.
    ///
    /// ```text
    ///   one     rule_set() → 7 ·············· apply(7, …) → 8
    ///   another     rule_set() → 7 ·························· apply(7, …) → Conflict { base: 7, current: 8, by: one }
    /// ```
    ///
    /// A change by SQL that nobody saw yet is a version of its own first, and a conflict. A change that changes nothing returns the version that is.
    pub async fn apply(
        &self,
        base: i64,
        change: &RuleSetChange,
        author: &Author,
        comment: &str,
        judge: impl FnOnce(&RuleSet) -> Result<(), String>,
    ) -> Result<Version, ApplyError> {
        let making = Making { author, comment, action: "rules.apply" };
        making.check()?;
        self.within(async {
            let (session, revision, seen) = self.turn(base).await?;
            let wanted = change.made_to(&seen.content)?;
            self.make(session, revision, &making, &seen, &wanted, judge).await
        })
        .await
    }

    /// Makes the rule set what it was in version `to`; 0 is empty. Numbers of rows come back as well. A version of its own, as every change.
    pub async fn rollback(
        &self,
        to: i64,
        base: i64,
        author: &Author,
        comment: &str,
        judge: impl FnOnce(&RuleSet) -> Result<(), String>,
    ) -> Result<Version, ApplyError> {
        let making = Making { author, comment, action: "rules.rollback" };
        making.check()?;
        self.within(async {
            let (mut session, revision, seen) = self.turn(base).await?;
            let content: Content = storing::stored(&mut session, to).await?;
            self.make(session, revision, &making, &seen, &Wanted::from(&content), judge).await
        })
        .await
    }

    /// A session in which nobody else changes anything, if the caller knows the latest version. What was changed by SQL is one by now.
    async fn turn(&self, base: i64) -> Result<(Session, i64, Seen), ApplyError> {
        let mut session = self.write().await?;
        let revision = session.take_turn().await?;
        let seen = reading::see(&mut session).await?;
        let seen = reading::adopt(&mut session, seen).await?;
        let current = seen.version();
        if current == base {
            return Ok((session, revision, seen));
        }
        // With the version by `sql`, if there is one.
        self.commit(session).await?;
        let (by, at) = match seen.latest {
            Some(latest) => (latest.author, latest.created_at),
            None => ("nobody".to_owned(), Timestamp::now()),
        };
        Err(ApplyError::Conflict { base, current, by, at })
    }

    async fn make(
        &self,
        mut session: Session,
        revision: i64,
        making: &Making<'_>,
        seen: &Seen,
        wanted: &Wanted,
        judge: impl FnOnce(&RuleSet) -> Result<(), String>,
    ) -> Result<Version, ApplyError> {
        storing::store(&mut session, &seen.content, wanted).await?;
        // What the tables say now, rather than what we think: rows have their numbers, and numbers their one spelling.
        let made = reading::see(&mut session).await?;
        if let Some(latest) = made.latest.as_ref().filter(|latest| latest.hash == made.hash) {
            return Ok(latest.clone());
        }
        let number = seen.version() + 1;
        let rule_set = RuleSet {
            version: number,
            revision,
            is_unversioned: false,
            entries: made.content.entries.clone(),
            rows: made.content.rows.clone(),
        };
        judge(&rule_set).map_err(|why| ApplyError::Mistaken { why })?;
        let version = storing::keep(&mut session, number, making.author, making.comment, &made).await?;
        storing::audit(&mut session, making.action, &version, &seen.content, &made.content, making.author)
            .await?;
        self.commit(session).await?;
        Ok(version)
    }
}

impl Making<'_> {
    fn check(&self) -> Result<(), ApplyError> {
        self.author.check()?;
        limits::text_or_empty("comment", self.comment, REASON_BYTES_MAX)?;
        Ok(())
    }
}
