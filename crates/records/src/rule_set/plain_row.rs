//! A row of `rate_limit_rules`: one limit, for whoever writes SQL.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::{
    DECIMAL_BYTES_MAX, DESCRIPTION_BYTES_MAX, KEY_BYTES_MAX, PLAN_BYTES_MAX, RecordsError, SCOPE_BYTES_MAX,
    decimal_text,
};

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainRow {
    /// Its number, given by the database.
    pub rule_id: i64,
    /// What it says.
    #[serde(flatten)]
    pub terms: RowTerms,
}

/// What a row says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowTerms {
    /// `user:{user_id}`, `ip:{ip}`, `endpoint:/path`, `global`, `org:{org_id}`.
    pub key_pattern: String,
    /// What the pattern is about: `user`, `ip`, `endpoint`, `global`, `org`.
    pub scope: String,
    /// Tokens per second, as decimal text.
    pub rate_per_second: String,
    /// Tokens, as decimal text.
    pub burst_capacity: String,
    /// For clients of this plan; `None` is for all others.
    pub plan: Option<String>,
    /// Whether it is enforced.
    pub is_active: bool,
    /// What people say of it.
    pub description: Option<String>,
}

/// A row to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutRow {
    /// Which row it replaces; `None` is a new one.
    pub rule_id: Option<i64>,
    /// What it says.
    pub terms: RowTerms,
}

impl RowTerms {
    /// An active row without plan and description.
    pub fn new(key_pattern: &str, scope: &str, rate_per_second: &str, burst_capacity: &str) -> RowTerms {
        RowTerms {
            key_pattern: key_pattern.to_owned(),
            scope: scope.to_owned(),
            rate_per_second: rate_per_second.to_owned(),
            burst_capacity: burst_capacity.to_owned(),
            plan: None,
            is_active: true,
            description: None,
        }
    }

    /// The same with its numbers in their one spelling, if all of it can be stored.
    pub(super) fn checked(self) -> Result<RowTerms, RecordsError> {
        limits::text("key_pattern", &self.key_pattern, KEY_BYTES_MAX)?;
        limits::text("scope", &self.scope, SCOPE_BYTES_MAX)?;
        if let Some(plan) = &self.plan {
            limits::text("plan", plan, PLAN_BYTES_MAX)?;
        }
        limits::text_or_empty(
            "description",
            self.description.as_deref().unwrap_or_default(),
            DESCRIPTION_BYTES_MAX,
        )?;
        let rate_per_second = above_zero("rate_per_second", &self.rate_per_second)?;
        let burst_capacity = above_zero("burst_capacity", &self.burst_capacity)?;
        Ok(RowTerms { rate_per_second, burst_capacity, ..self })
    }
}

fn above_zero(field: &'static str, number: &str) -> Result<String, RecordsError> {
    limits::text(field, number, DECIMAL_BYTES_MAX)?;
    let spelt =
        decimal_text::canonical(number).filter(|number| number != "0" && number.len() <= DECIMAL_BYTES_MAX);
    spelt.ok_or_else(|| RecordsError::Invalid {
        field,
        why: format!("is \"{}\"; write a number above 0, like 10 or 0.5", number.escape_debug()),
    })
}
