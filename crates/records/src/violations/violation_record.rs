//! A violation as it stands in the log.

use serde::Serialize;

use super::MicroTokens;
use super::violation_row::ViolationRow;
use crate::session::Row;
use crate::{RecordsError, Timestamp};

/// A violation as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViolationRecord {
    /// Its number; the live stream tells of violations before they have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation_id: Option<i64>,
    /// When it was.
    pub requested_at: Timestamp,
    /// The name of the rule that denied.
    pub rule: String,
    /// The bucket's key; empty where identifiers are off.
    pub bucket_key: String,
    /// Who asked, if known.
    pub user: Option<String>,
    /// Where it came from, if known.
    pub address: Option<String>,
    /// What was asked for, if known.
    pub endpoint: Option<String>,
    /// What the bucket held.
    pub tokens_at_time: MicroTokens,
    /// What was asked of it.
    pub cost: MicroTokens,
    /// Why it was denied.
    pub reason: String,
    /// Which door denied it.
    pub door: String,
    /// How many denials of its key it stands for: itself, and those since the row before that were only counted.
    pub sampled_for: u64,
}

/// What [`ViolationRecord::of`] reads. Numbers in millionths, which both databases count alike.
pub(super) const COLUMNS_SQL: &str = "violation_id, requested_at, rule_id, bucket_key, user_id, ip_address, endpoint, \
    CAST(ROUND(tokens_at_time * 1000000) AS BIGINT) AS tokens, CAST(ROUND(cost * 1000000) AS BIGINT) AS cost, \
    reason, door, sampled_for";

impl ViolationRecord {
    /// As the live stream tells it.
    pub(super) fn live(row: &ViolationRow) -> ViolationRecord {
        ViolationRecord {
            violation_id: None,
            requested_at: row.at,
            rule: row.rule.to_string(),
            bucket_key: row.key.clone(),
            user: row.user.clone(),
            address: row.address.clone(),
            endpoint: row.endpoint.clone(),
            tokens_at_time: row.tokens,
            cost: row.cost,
            reason: row.reason.clone(),
            door: row.door.clone(),
            sampled_for: row.sampled_for,
        }
    }

    pub(super) fn of(row: &Row) -> Result<ViolationRecord, RecordsError> {
        Ok(ViolationRecord {
            violation_id: Some(row.get("violation_id")?),
            requested_at: row.get("requested_at")?,
            rule: row.get("rule_id")?,
            bucket_key: row.get("bucket_key")?,
            user: row.get("user_id")?,
            address: row.get("ip_address")?,
            endpoint: row.get("endpoint")?,
            tokens_at_time: MicroTokens(row.get("tokens")?),
            cost: MicroTokens(row.get("cost")?),
            reason: row.get("reason")?,
            door: row.get("door")?,
            sampled_for: u64::try_from(row.get::<i64>("sampled_for")?).unwrap_or(0),
        })
    }
}
