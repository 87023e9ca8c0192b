//! The account of a request, for machines.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Number, Value};
use tollgate::Span;
use tollgate::policy::{Consistency, OnStoreFailure, Outcome, RuleExplanation};

use super::account::{Account, Fate, RuleAccount};
use super::client_text;
use crate::format;

#[derive(Serialize)]
struct Document<'a> {
    request: Request<'a>,
    /// What is not as it was typed.
    notes: Vec<String>,
    admitted: bool,
    verdict: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ns: Option<u64>,
    kill_switches: Vec<SwitchEntry<'a>>,
    rules: Vec<RuleEntry<'a>>,
    answer: AnswerEntry<'a>,
}

#[derive(Serialize)]
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded_path: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    other_paths: &'a [String],
    host: Option<&'a str>,
    ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_address: Option<ClientEntry>,
    user: Option<&'a str>,
    plan: Option<&'a str>,
    after: u32,
}

/// How the client was found.
#[derive(Serialize)]
struct ClientEntry {
    address: Option<IpAddr>,
    told_by: Option<IpAddr>,
    ending: &'static str,
    ignored_forwarding_header: bool,
    reason: String,
}

#[derive(Serialize)]
struct SwitchEntry<'a> {
    name: &'a str,
    applies: bool,
    reason: &'a str,
}

#[derive(Serialize)]
struct RuleEntry<'a> {
    rule: &'a str,
    outcome: &'static str,
    reason: &'a str,
    mode: &'static str,
    enforced: bool,
    /// Where it is not `exact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    consistency: Option<&'static str>,
    /// Where it is not `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_store_failure: Option<&'static str>,
    denied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_deny: Option<bool>,
    limit: &'a str,
    key: Vec<KeyEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_after: Option<Value>,
}

#[derive(Serialize)]
struct KeyEntry<'a> {
    source: &'a str,
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ambiguity: Option<&'a str>,
}

#[derive(Serialize)]
struct HeaderEntry<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct AnswerEntry<'a> {
    status: u16,
    headers: Vec<HeaderEntry<'a>>,
    body: Option<Value>,
    jitter_percent: u8,
}

impl Account<'_> {
    /// The account as a document.
    pub(super) fn json(&self) -> String {
        let facts = self.seen.facts();
        let client = self.seen.client_address.zip(self.client()).map(|(found, reason)| ClientEntry {
            address: found.address,
            told_by: found.told_by,
            ending: client_text::name_of(found.ending),
            ignored_forwarding_header: found.ignored_forwarding_header,
            reason,
        });
        let switches = self.explanation.kill_switches.iter().filter_map(|explained| {
            let name = &self.policy.kill_switches.get(explained.switch)?.name;
            Some(SwitchEntry { name, applies: explained.applies, reason: &explained.reason })
        });
        let answer = &self.answer;
        format::json(&Document {
            request: Request {
                method: &self.request.method,
                target: &self.request.target,
                path: &self.explanation.path,
                decoded_path: self.explanation.decoded_path.as_deref(),
                other_paths: &self.explanation.other_paths,
                host: self.explanation.host.as_deref(),
                ip: facts.address.map(|address| address.to_canonical()),
                peer: self.request.peer,
                client_address: client,
                user: facts.user,
                plan: facts.plan,
                after: self.after,
            },
            notes: self.notes(),
            admitted: self.is_admitted,
            verdict: &self.verdict,
            retry_after_ns: self.retry_after.map(Span::as_nanos),
            kill_switches: switches.collect(),
            rules: self
                .rules
                .iter()
                .zip(&self.explanation.rules)
                .map(|(rule, why)| entry(rule, why))
                .collect(),
            answer: AnswerEntry {
                status: answer.status,
                headers: answer.headers.iter().map(|(name, value)| HeaderEntry { name, value }).collect(),
                body: answer.body.as_ref().and_then(|(_, text)| serde_json::from_str(text).ok()),
                jitter_percent: self.policy.answers.jitter_percent,
            },
        })
    }
}

/// What is not as it is unless told otherwise.
fn unusual<T: Default + PartialEq>(value: T) -> Option<T> {
    (value != T::default()).then_some(value)
}

fn entry<'a>(rule: &'a RuleAccount, explained: &'a RuleExplanation) -> RuleEntry<'a> {
    let cost = explained.cost.as_ref();
    let key = explained.key_parts.iter();
    RuleEntry {
        rule: &rule.name,
        outcome: name_of(explained.outcome),
        reason: &explained.reason,
        mode: explained.mode.name(),
        enforced: explained.is_enforced,
        consistency: unusual(explained.consistency).map(Consistency::name),
        on_store_failure: unusual(explained.on_store_failure).map(OnStoreFailure::name),
        denied: rule.fate == Fate::Denies,
        would_deny: match rule.fate {
            Fate::Watches { would_deny } => Some(would_deny),
            _ => None,
        },
        limit: &rule.limit,
        key: key
            .map(|part| KeyEntry {
                source: &part.source,
                value: part.value.as_deref(),
                ambiguity: part.ambiguity.as_deref(),
            })
            .collect(),
        cost: cost.map(|cost| number(&cost.cost.to_string())),
        cost_reason: cost.map(|cost| cost.reason.as_str()),
        tokens_before: rule.tokens.map(|(before, _)| number(&before.to_string())),
        tokens_after: rule.tokens.map(|(_, after)| number(&after.to_string())),
    }
}

/// A decimal as JSON has it.
fn number(decimal: &str) -> Value {
    decimal.parse::<Number>().map_or_else(|_| Value::String(decimal.to_owned()), Value::Number)
}

fn name_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Charges => "charges",
        Outcome::Allows => "allows",
        Outcome::Blocks => "blocks",
        Outcome::RefusesWithoutKey => "refuses_without_key",
        Outcome::Overruled => "overruled",
        Outcome::Displaced { .. } => "displaced",
        Outcome::Skipped => "skipped",
        Outcome::DoesNotMatch => "does_not_match",
        Outcome::Off => "off",
    }
}
