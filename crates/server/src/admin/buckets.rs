//! `/admin/v1/buckets`: one client's bucket under one rule, looked at, filled, given tokens (O2).
//!
//! In memory every instance has buckets of its own: with records the operation is told to all of them, this one included, and each does
//! it once. A shared store has one bucket for all, and it is done there.

mod client_orders;
mod foreseen;

use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate::policy::limit_text;
use tollgate::{BucketError, Cost, NamedBucket, NamedBuckets, NoBuckets, Tokens};
use tollgate_records::{AuditNote, NewOperation, OperationKind, Records};

use self::foreseen::Foreseen;
use super::Operations;
use super::call::{Call, done, ok};
use super::on_record::refused;
use super::rules::unknown_rule;
use crate::http::{Problem, Reply, cost_of, millis_up, tokens_text};
use crate::talkers::{Figure, Talker};

/// How long an operation is waited for that was told to all instances.
const DONE_WITHIN: Duration = Duration::from_secs(2);

/// A bucket, as it stands.
#[derive(Debug, Serialize)]
struct Shown {
    /// Whether it only watches.
    shadow: bool,
    algorithm: &'static str,
    limit: String,
    balance: Box<RawValue>,
    full: Box<RawValue>,
    /// None if it never can pay that.
    next_admit_ms: Option<u64>,
    full_in_ms: u64,
    /// Whether anything is known of the client: a bucket that is full need not be kept.
    exists: bool,
    mode: &'static str,
}

/// What became of a client's checks in about the last minute.
#[derive(Debug, Serialize)]
struct Lately {
    admitted: Figure,
    denied: Figure,
    near: Figure,
}

impl From<Talker> for Lately {
    fn from(Talker { admitted, denied, near, .. }: Talker) -> Lately {
        Lately { admitted, denied, near }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawOperation {
    rule: String,
    key: String,
    /// As it was typed: whatever it is, what is wrong with it is said of it.
    tokens: Option<Value>,
    reason: String,
}

/// `GET /buckets?rule=…&key=…`, and `cost`, 1 unless told otherwise.
pub(super) async fn look(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["rule", "key", "cost"])?;
    let (rule, key) = (query.must("rule")?, query.must("key")?);
    let cost =
        query.parsed("cost", "a number of tokens")?.map_or(Ok(Cost::ONE), |cost| cost_of("cost", cost))?;
    let buckets = call.operations.buckets(rule, key)?;
    let buckets = shown(&buckets, cost).await?;
    let (parts, policy) = (&call.operations.engine.loaded().parts, call.operations.engine.limiter.policy());
    let known = policy.rules.iter().find(|known| &*known.name == rule);
    let told = known.and_then(|rule| {
        let key = rule.key_of(key).ok()?;
        // Who has another limit by an order is counted under that.
        let limiting = client_orders::limiting(&parts.orders, rule, &key);
        let counted = limiting.and_then(|name| policy.rules.iter().find(|known| *known.name == *name));
        let lately = call.operations.engine.talker(counted.unwrap_or(rule), &key).map(Lately::from);
        Some((client_orders::about(&parts.orders, &policy, rule, &key), lately))
    });
    let (orders, lately) = told.unwrap_or_default();
    ok(&json!({ "rule": rule, "key": key, "buckets": buckets, "orders": orders, "lately": lately }))
}

/// `POST /buckets/reset`.
pub(super) async fn reset(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let raw: RawOperation = call.json()?;
    if raw.tokens.is_some() {
        return Err(Problem::field("tokens", "`tokens` is for /buckets/grant; drop it".to_owned()));
    }
    operate(&call, raw, OperationKind::Reset, None).await
}

/// `POST /buckets/grant`.
pub(super) async fn grant(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let raw: RawOperation = call.json()?;
    let Some(tokens) = &raw.tokens else {
        let detail = "`tokens` is missing; say how many to give, as in \"tokens\": 10".to_owned();
        return Err(Problem::field("tokens", detail));
    };
    let number = tokens.as_f64().filter(|number| *number != 0.0);
    let tokens = number.map_or_else(|| Err(no_amount(tokens)), |number| cost_of("tokens", number))?;
    operate(&call, raw, OperationKind::Grant { amount: tokens.to_string() }, Some(tokens)).await
}

fn no_amount(tokens: &Value) -> Problem {
    let tokens = crate::http::shown(&tokens.to_string());
    let detail = format!("`tokens` is {tokens}; use a number above 0, as in 10 or 0.5");
    Problem::field("tokens", detail).because("bad_body")
}

async fn operate(
    call: &Call,
    raw: RawOperation,
    kind: OperationKind,
    tokens: Option<Cost>,
) -> Result<Reply, Problem> {
    let RawOperation { rule, key, reason, .. } = raw;
    if reason.trim().is_empty() {
        return Err(Problem::field("reason", "`reason` is missing; say why, for the audit trail".to_owned()));
    }
    let operations = &call.operations;
    let buckets = operations.buckets(&rule, &key)?;
    let action = if tokens.is_some() { "bucket.grant" } else { "bucket.reset" };
    let Foreseen { before, after } = Foreseen::of(&buckets, tokens).await.map_err(not_done)?;
    let new = NewOperation { kind, rule, key, reason, before: Some(before), after: Some(after) };
    let (NewOperation { rule, key, reason, before, after, .. }, by) = (&new, &call.caller.name);
    let is_done = match &operations.records {
        None => {
            give(&buckets, tokens).await?;
            tracing::info!(by, rule, key, reason, before, after, "{action}");
            true
        }
        Some(records) if operations.engine.ledger.is_some() => {
            audit(records, call, action, &new).await?;
            give(&buckets, tokens).await?;
            true
        }
        Some(records) => {
            let number =
                records.note_operation(&new, &call.author()).await.map_err(|error| refused(&error))?;
            operations.follower.has_done(number, DONE_WITHIN).await
        }
    };
    operations.events.tell_change(&json!({ "what": action, "rule": rule, "by": by }));
    let answer =
        json!({ "rule": rule, "key": key, "done": is_done, "buckets": shown(&buckets, Cost::ONE).await? });
    done(if is_done { StatusCode::OK } else { StatusCode::ACCEPTED }, &answer)
}

/// Writes down what is about to be done in the shared store: were it done first, it might never be written down.
async fn audit(records: &Records, call: &Call, action: &str, new: &NewOperation) -> Result<(), Problem> {
    let note = AuditNote {
        action,
        target: &format!("{} {}", new.rule, new.key),
        before: new.before.as_deref(),
        after: new.after.as_deref(),
        reason: Some(&new.reason),
    };
    records.note_audit(&note, &call.author()).await.map(drop).map_err(|error| refused(&error))
}

/// Fills the buckets of a client, or gives them tokens: the shadow with the enforced one.
pub(super) async fn give(buckets: &NamedBuckets, tokens: Option<Cost>) -> Result<(), Problem> {
    for bucket in buckets.iter() {
        match tokens {
            Some(tokens) => bucket.grant(tokens).await,
            None => bucket.reset().await,
        }
        .map_err(not_done)?;
    }
    Ok(())
}

impl Operations {
    /// The buckets of a client that an operator names, under a rule in force. Who has another limit by an order is found under that.
    pub(super) fn buckets(&self, rule: &str, key: &str) -> Result<NamedBuckets, Problem> {
        let limiter = &self.engine.limiter;
        let (bytes, limiting) = {
            let policy = limiter.policy();
            let known = policy.rules.iter().find(|known| &*known.name == rule);
            let known = known.ok_or_else(|| unknown_rule(rule))?;
            let bytes = known
                .key_of(key)
                .map_err(|mistake| Problem::field("key", mistake.to_string()).because("bad_key"))?;
            let limiting = client_orders::limiting(&self.engine.loaded().parts.orders, known, &bytes);
            (bytes, limiting)
        };
        limiter.buckets(limiting.as_deref().unwrap_or(rule), &bytes).map_err(|error| match &error {
            NoBuckets::Key(_) => Problem::field("key", error.to_string()).because("bad_key"),
            NoBuckets::UnknownRule { .. } => unknown_rule(rule),
            _ => Problem::field("rule", error.to_string()).because("no_buckets"),
        })
    }
}

async fn shown(buckets: &NamedBuckets, cost: Cost) -> Result<Vec<Shown>, Problem> {
    let mut all = Vec::new();
    for bucket in buckets.iter() {
        all.push(show(bucket, cost).await?);
    }
    Ok(all)
}

async fn show(bucket: &NamedBucket, cost: Cost) -> Result<Shown, Problem> {
    let look = bucket.look(cost).await.map_err(not_done)?;
    Ok(Shown {
        shadow: bucket.is_shadow(),
        algorithm: look.limit.name(),
        limit: limit_text(&look.limit),
        balance: number(look.balance)?,
        full: number(look.limit.full())?,
        next_admit_ms: look.next_admit.map(millis_up),
        full_in_ms: millis_up(look.full_in),
        exists: look.exists(),
        mode: look.mode.name(),
    })
}

/// Tokens, exactly.
fn number(tokens: Tokens) -> Result<Box<RawValue>, Problem> {
    let number = RawValue::from_string(tokens_text(tokens));
    number.map_err(|_| Problem::unavailable("the balance cannot be written"))
}

fn not_done(error: BucketError) -> Problem {
    match error {
        BucketError::Down(_) => Problem::unavailable(error.to_string()).because("store_unavailable"),
        BucketError::Key(_) => Problem::field("key", error.to_string()).because("bad_key"),
        _ => Problem::field("tokens", error.to_string()).because("cannot_grant"),
    }
}
