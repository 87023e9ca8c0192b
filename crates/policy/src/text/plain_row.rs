//! A plain row as a rule: patterns, figures and plans of `rate_limit_rules` (P5).

use std::rc::Rc;

use tollgate_core::{Algorithm, Burst, Limit, Tokens};

use crate::regex::PatternBudget;
use crate::{
    Action, Condition, Consistency, CostPlan, KeySource, Missing, Mode, OnStoreFailure, PlainRow, Rule,
    Scope, Source, TableSettings, ValueTest,
};

use super::condition::all_of;
use super::found::Found;
use super::limit_fault::{self, Figures};
use super::mistakes::Mistakes;
use super::path::{self, Strictness};
use super::rule::TypedRule;
use super::tree::cut;
use super::{field_node, field_place, key_source, rate, rule_keys, tokens};

/// The columns that may be mistaken. Places of mistakes are positions in here.
const COLUMNS: [&str; 6] = ["rule_id", "key_pattern", "scope", "rate_per_second", "burst_capacity", "plan"];
pub(super) const RULE_ID: usize = 0;
pub(super) const KEY_PATTERN: usize = 1;
const SCOPE: usize = 2;
const RATE: usize = 3;
const BURST: usize = 4;
const PLAN: usize = 5;

/// The claim that tells organisations apart where a pattern says `{org_id}`.
const ORG_CLAIM: &str = "org_id";
/// Longest name of a plan, and longest pattern, in bytes.
const PLAN_BYTES_MAX: usize = 128;
const PATTERN_BYTES_MAX: usize = 1_024;
const PATTERNS: &str = "write `user:{user_id}`, `ip:{ip}`, `org:{org_id}`, `endpoint:/api/search`, `endpoint:{path}` or `global`";

/// A row with what became of it.
pub(super) struct ReadRow<'r> {
    pub(super) row: &'r PlainRow,
    pub(super) found: Found,
    /// `None` after a mistake.
    pub(super) rule: Option<TypedRule>,
    /// Whose bucket it is, in one spelling: rows that have it in common are tiers of each other.
    pub(super) meaning: String,
}

/// What a pattern says.
struct Pattern {
    scope: Scope,
    keys: Vec<KeySource>,
    route: Condition,
}

impl<'r> ReadRow<'r> {
    /// Reads a row.
    pub(super) fn read(row: &'r PlainRow, patterns: &Rc<PatternBudget>) -> ReadRow<'r> {
        let mut found = Found::within(patterns);
        let pattern = pattern(&row.key_pattern, &mut found);
        let meaning = pattern.as_ref().map_or_else(
            || row.key_pattern.clone(),
            |Pattern { scope, keys, route }| format!("{scope:?} {keys:?} {route:?}"),
        );
        let rule = rule(row, pattern, &mut found);
        ReadRow { row, found, rule, meaning }
    }

    /// A mistake in one of its columns.
    pub(super) fn add(&mut self, column: usize, what: String, cure: String) {
        self.found.add(field_place(column), what, cure);
    }

    /// Every mistake.
    pub(super) fn mistakes(self) -> Mistakes {
        Mistakes::of_fields("", &Source::Row(self.row.rule_id), &COLUMNS, self.found)
    }
}

fn rule(row: &PlainRow, pattern: Option<Pattern>, found: &mut Found) -> Option<TypedRule> {
    let scope = rule_keys::scope(&field_node(&row.scope, SCOPE, false), found);
    let plan = match &row.plan {
        Some(plan) if plan.trim().is_empty() || plan.len() > PLAN_BYTES_MAX => {
            let what = format!("`plan` is `{}`, which is no name of a plan", cut(plan));
            let cure =
                format!("write 1 to {PLAN_BYTES_MAX} bytes, or NULL for everybody that no other row is for");
            found.add(field_place(PLAN), what, cure);
            None
        }
        Some(plan) => Some(Condition::Value(KeySource::Plan, ValueTest::OneOf(vec![plan.as_str().into()]))),
        None => Some(Condition::Always),
    };
    let limit = limit(row, found);
    let Pattern { scope: meant, keys, route } = pattern?;
    if scope.is_some_and(|scope| scope != meant) {
        let what = format!("`scope` is `{}`, and `key_pattern` is about `{}`", row.scope, meant.name());
        found.add(field_place(SCOPE), what, format!("write `{}`", meant.name()));
        return None;
    }
    let (scope, condition) = (scope?, all_of(vec![route, plan?]));
    let rule = Rule {
        name: format!("{}-{}", scope.name(), row.rule_id).into(),
        scope,
        keys,
        missing: Missing::Anonymous,
        condition,
        action: Action::Limit(Algorithm::TokenBucket(limit?)),
        cost: CostPlan::ONE,
        mode: if row.is_active { Mode::Enforce } else { Mode::Off },
        rollout_percent: 100,
        trusts_upstream_claims: false,
        consistency: Consistency::Exact,
        on_store_failure: OnStoreFailure::Local,
        table: TableSettings::default(),
        group: None,
        refund_statuses: Vec::new(),
        settle_header: None,
        reason: None,
        message: None,
        source: Source::Row(row.rule_id),
        overrides: None,
        line: 0,
    };
    Some(TypedRule { rule, is_named: true, head: field_place(RULE_ID) })
}

fn limit(row: &PlainRow, found: &mut Found) -> Option<Limit> {
    let node = field_node(row.rate_per_second.trim(), RATE, true);
    let rate = if row.rate_per_second.contains('/') || node.is_null() {
        let cure = "write only the number of tokens per second, as in `10`";
        found.unfit(&node, "rate_per_second", "a number", cure);
        None
    } else {
        rate::read(&node, "rate_per_second", found)
    };
    let burst = field_node(row.burst_capacity.trim(), BURST, true);
    let burst = tokens::micros(&burst, "burst_capacity", "50", found).map(Burst::micros);
    let (rate, burst) = (rate?, burst?);
    let amount = Some(("burst_capacity", field_place(BURST)));
    let figures = Figures { rate: Some(&rate), amount, head: field_place(RATE) };
    let limit = limit_fault::sound(Limit::new(rate.rate, burst), figures, found)?;
    if Tokens::from(CostPlan::ONE.default) > limit.burst() {
        let what = format!(
            "a request costs 1, and a full bucket holds {}: none would ever be admitted",
            limit.burst()
        );
        found.add(field_place(BURST), what, "write 1 or more");
        return None;
    }
    Some(limit)
}

fn pattern(text: &str, found: &mut Found) -> Option<Pattern> {
    let place = field_place(KEY_PATTERN);
    if text.len() > PATTERN_BYTES_MAX {
        found.add(
            place,
            format!("`key_pattern` has {} bytes", text.len()),
            format!("write at most {PATTERN_BYTES_MAX}"),
        );
        return None;
    }
    let everyone = |scope, keys| Some(Pattern { scope, keys, route: Condition::Always });
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let braced = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let (scope, usual) = match (kind, braced) {
        ("global", None) if rest.is_empty() => return everyone(Scope::Global, Vec::new()),
        ("endpoint", None) if rest.starts_with('/') => {
            let route = path::read(&field_node(rest, KEY_PATTERN, false), Strictness::default(), found)?;
            return Some(Pattern { scope: Scope::Endpoint, keys: Vec::new(), route });
        }
        ("user", Some("user_id" | "user" | "id")) => (Scope::User, Some(KeySource::User)),
        ("user", Some(_)) => (Scope::User, None),
        ("ip", Some("ip" | "address")) => (Scope::Ip, Some(KeySource::ONE_CLIENT)),
        ("ip", Some(_)) => (Scope::Ip, None),
        ("org" | "organisation", Some("org_id" | "org" | "id")) => {
            (Scope::Organisation, Some(KeySource::Claim(vec![ORG_CLAIM.into()])))
        }
        ("org" | "organisation", Some(_)) => (Scope::Organisation, None),
        ("endpoint", Some("path" | "endpoint" | "route")) => (Scope::Endpoint, Some(KeySource::Path)),
        ("endpoint", Some(_)) => (Scope::Endpoint, None),
        ("user" | "ip" | "org" | "organisation", None) if !rest.is_empty() => {
            let what = format!("`key_pattern` is `{}`, one client alone", cut(text));
            let cure = "give that client an override by a standing order; rows are for all clients, as in `user:{user_id}`";
            found.add(place, what, cure);
            return None;
        }
        _ => {
            found.add(place, format!("`key_pattern` is `{}`, which says nothing", cut(text)), PATTERNS);
            return None;
        }
    };
    let source = match usual {
        Some(source) => source,
        None => key_source::read(braced.unwrap_or_default(), place, found)?,
    };
    let keys = vec![source];
    if !rule_keys::is_about(scope, &keys, None) {
        let what = format!("`key_pattern` is `{}`, which is not about scope `{}`", cut(text), scope.name());
        found.add(place, what, PATTERNS);
        return None;
    }
    everyone(scope, keys)
}
