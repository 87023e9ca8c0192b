//! One rule, from its fields (P2), short spellings included (P5).

use tollgate_core::Algorithm;

use crate::presets::{self, Preset};
use crate::{
    Action, Condition, Consistency, CostPlan, CostSource, Missing, Mode, OnStoreFailure, Rule, Scope, Source,
    TableSettings,
};

use super::fields::Fields;
use super::found::Found;
use super::tree::{Node, Place};
use super::{
    choice, cost, decimal, did_you_mean, key_source, limit, rule_keys, rule_name, short_form, store, table,
};

/// The fields of a rule besides those of its bucket.
pub(super) const FIELDS: [&str; 28] = [
    "name",
    "description",
    "scope",
    "limit_keys",
    "match",
    "plan",
    "path",
    "method",
    "host",
    "case_sensitive",
    "strict_slash",
    "strict_method",
    "algorithm",
    "algorithm_config",
    "preset",
    "action",
    "mode",
    "rollout_percent",
    "missing",
    "jwt_trust",
    "consistency",
    "on_store_failure",
    "table_full",
    "log_entries_max",
    "refund_on",
    "settle_header",
    "reason",
    "message",
];
/// Longest message to clients.
const MESSAGE_BYTES_MAX: usize = 512;
/// The header that holds a request's cost under `burst_hint: llm-tools`, unless the rule says otherwise.
const LLM_COST_HEADER: &str = "x-token-cost";

const MODES: [(&str, Mode); 3] = [("enforce", Mode::Enforce), ("shadow", Mode::Shadow), ("off", Mode::Off)];

/// What a rule does, before its bucket is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Limit,
    Allow,
    Block,
}

/// A rule as it was typed; its name is empty unless it `is_named`.
pub(super) struct TypedRule {
    pub(super) rule: Rule,
    pub(super) is_named: bool,
    pub(super) head: Place,
}

impl TypedRule {
    /// Gives it a name made of what it is about, unless it has one; whether it had none.
    pub(super) fn make_name(&mut self) -> bool {
        if !self.is_named {
            self.rule.name = rule_name::made_of(&self.rule);
        }
        !self.is_named
    }
}

/// Reads a rule, or adds what is wrong with it.
pub(super) fn read(node: &Node<'_>, found: &mut Found) -> Option<TypedRule> {
    if found.is_stopped(node.head()) {
        return None;
    }
    let cure = "write a mapping, as in `{name: per-client, scope: ip, rate: 10/s, burst: 50}`";
    let mut fields = Fields::of(node, "a rule", cure, found)?;
    let head = fields.head;
    if let Some(config) = fields.take("algorithm_config").filter(|config| !config.is_null()) {
        let cure = "write its fields, as in `algorithm_config: {rps: 5, burst: 10}`";
        if let Some(inner) = Fields::of(config, "`algorithm_config`", cure, found) {
            fields.absorb(inner, "algorithm_config", &limit::FIELDS, found);
        }
    }
    let name_node = fields.take("name");
    let name = name_node.map(|node| rule_name::read_own(node, "name", found));
    if let Some(node) = fields.take("description") {
        let _ = choice::text(node, "description", 4_096, found);
    }
    let action = fields.take("action");
    let deed = match action {
        Some(node) => choice::one_of(
            node,
            "action",
            &[("limit", Deed::Limit), ("allow", Deed::Allow), ("block", Deed::Block)],
            found,
        ),
        None => Some(Deed::Limit),
    };
    let condition = short_form::read(&mut fields, found);
    let limited = match deed {
        Some(Deed::Limit) | None => limited(&mut fields, condition.as_ref(), found),
        Some(deed) => unlimited(&mut fields, deed, condition.as_ref(), action?.place, found),
    };
    let algorithm = limited.as_ref().and_then(|limited| match limited.action {
        Action::Limit(algorithm) => Some(algorithm),
        Action::Allow | Action::Block => None,
    });
    let rest = Rest::read(&mut fields, algorithm, found);
    let known: Vec<&str> = FIELDS.into_iter().chain(limit::FIELDS).collect();
    fields.refuse_rest("a rule", &known, found);

    let Limited { scope, keys, action, cost } = limited?;
    let Rest {
        mode,
        rollout_percent,
        missing,
        trusts_upstream_claims,
        consistency,
        on_store_failure,
        table,
        refund_statuses,
        settle_header,
        reason,
        message,
    } = rest?;
    let rule = Rule {
        name: match name {
            Some(name) => name?,
            None => "".into(),
        },
        scope,
        keys,
        missing,
        condition: condition?,
        action,
        cost,
        mode,
        rollout_percent,
        trusts_upstream_claims,
        consistency,
        on_store_failure,
        table,
        group: None,
        refund_statuses,
        settle_header,
        reason,
        message,
        source: Source::File,
        overrides: None,
        line: node.place.line,
    };
    Some(TypedRule { rule, is_named: name_node.is_some(), head })
}

/// Whom it limits, and to what.
struct Limited {
    scope: Scope,
    keys: Vec<crate::KeySource>,
    action: Action,
    cost: CostPlan,
}

fn limited(fields: &mut Fields<'_, '_>, condition: Option<&Condition>, found: &mut Found) -> Option<Limited> {
    let preset = fields.take("preset").map(|node| preset(node, found));
    let kind = fields.take("algorithm").map_or(Some(limit::Kind::TokenBucket), |node| algorithm(node, found));
    let keys = rule_keys::read(fields, condition, preset.flatten(), found);
    let is_llm = fields.peek("burst_hint").and_then(Node::scalar) == Some("llm-tools");
    let fallback = if is_llm { CostSource::Header(LLM_COST_HEADER.into()) } else { CostSource::Fixed };
    // A preset that does not exist has been reported; without it half of the rule would seem to be missing.
    let (Some(kind), None | Some(Some(_))) = (kind, preset) else {
        let _ = fields.take_left(&limit::FIELDS);
        return None;
    };
    let algorithm = limit::read(fields, kind, preset.flatten(), found);
    let cost = cost::read(fields, algorithm.map(|algorithm| algorithm.full()), fallback, found);
    let algorithm = algorithm?;
    let cost = cost?;
    if tollgate_core::Tokens::from(cost.default) > algorithm.full() {
        let what = format!(
            "a request costs {}, and a full bucket holds {}: none would ever be admitted",
            cost.default,
            algorithm.full()
        );
        let amount = ["burst", "burst_hint", "queue", "quota"].iter().find_map(|name| fields.peek(name));
        let place = amount.map_or(fields.head, |node| node.place);
        found.add(place, what, "let the bucket hold at least 1, or write a smaller `fixed_cost`");
        return None;
    }
    let (scope, keys) = keys?;
    Some(Limited { scope, keys, action: Action::Limit(algorithm), cost })
}

/// A rule that lets through or refuses: it has no bucket.
fn unlimited(
    fields: &mut Fields<'_, '_>,
    deed: Deed,
    condition: Option<&Condition>,
    place: Place,
    found: &mut Found,
) -> Option<Limited> {
    let (word, action) =
        if deed == Deed::Allow { ("allow", Action::Allow) } else { ("block", Action::Block) };
    let of_buckets = ["scope", "limit_keys", "algorithm", "preset"]
        .into_iter()
        .chain(store::FIELDS_OF_RULES)
        .chain(table::FIELDS);
    let extra: Vec<&'static str> = of_buckets.chain(limit::FIELDS).collect();
    let extra = fields.take_left(&extra);
    for (name, place) in &extra {
        found.add(
            *place,
            format!("`{name}` has no effect: a rule with `action: {word}` has no bucket"),
            "delete it",
        );
    }
    if matches!(condition, Some(Condition::Always)) {
        let what = format!("this rule would {word} every request");
        found.add(place, what, "add a `match` that says which; to stop everything, use `kill_switches`, to let everything through, `mode: shadow`");
        return None;
    }
    extra.is_empty().then_some(Limited {
        scope: Scope::Global,
        keys: Vec::new(),
        action,
        cost: CostPlan::ONE,
    })
}

fn preset(node: &Node<'_>, found: &mut Found) -> Option<&'static Preset> {
    let text = node.scalar().unwrap_or_default();
    let preset = presets::named(text);
    if preset.is_none() {
        let is_hint = limit::BURST_HINTS.iter().any(|(hint, _)| *hint == text);
        let cure = if is_hint {
            format!("write `burst_hint: {text}`, with a `rate`")
        } else {
            did_you_mean::cure(text, &presets::NAMES)
        };
        found.add(node.head(), format!("there is no preset called {}", node.described()), cure);
    }
    preset
}

fn algorithm(node: &Node<'_>, found: &mut Found) -> Option<limit::Kind> {
    let text = node.scalar().unwrap_or_default().to_ascii_lowercase();
    let flat: String = did_you_mean::flat(&text).into_iter().collect();
    let cure = match flat.as_str() {
        "gcra" | "genericcellrate" => "write `token_bucket`: it keeps the same promise",
        "slidinglog" | "slidingwindowlog" => "write `sliding_window` with `variant: log`",
        "slidingcounter" | "slidingwindowcounter" => "write `sliding_window` with `variant: counter`",
        "window" | "fixed" | "counter" => {
            "write `fixed_window`; or `sliding_window`, which has no gap at a window's end"
        }
        "inflight" | "semaphore" | "maxconcurrent" => "write `concurrency`",
        _ => return choice::one_of(node, "algorithm", &limit::KINDS, found),
    };
    found.add(node.head(), format!("`algorithm` cannot be {}", node.described()), cure);
    None
}

/// What else a rule says.
struct Rest {
    mode: Mode,
    rollout_percent: u8,
    missing: Missing,
    trusts_upstream_claims: bool,
    consistency: Consistency,
    on_store_failure: OnStoreFailure,
    table: TableSettings,
    refund_statuses: Vec<u16>,
    settle_header: Option<Box<str>>,
    reason: Option<Box<str>>,
    message: Option<Box<str>>,
}

impl Rest {
    fn read(fields: &mut Fields<'_, '_>, algorithm: Option<Algorithm>, found: &mut Found) -> Option<Rest> {
        let missing = [("anonymous", Missing::Anonymous), ("skip", Missing::Skip), ("deny", Missing::Deny)];
        let mode = fields.take("mode").map_or(Some(Mode::Enforce), |node| mode(node, found));
        let rollout = fields
            .take("rollout_percent")
            .map_or(Some(100), |node| decimal::percent(node, "rollout_percent", found));
        let missing = fields
            .take("missing")
            .map_or(Some(Missing::Anonymous), |node| choice::one_of(node, "missing", &missing, found));
        let trust = [("upstream_verified", true), ("verified", false)];
        let trusts = fields
            .take("jwt_trust")
            .map_or(Some(false), |node| choice::one_of(node, "jwt_trust", &trust, found));
        let consistency = fields
            .take("consistency")
            .map_or(Some(Consistency::Exact), |node| store::consistency(node, found));
        let on_store_failure = fields
            .take("on_store_failure")
            .map_or(Some(OnStoreFailure::Local), |node| store::on_store_failure(node, found));
        let table = table::read(fields, algorithm, found);
        let refund = fields.take("refund_on").map_or(Some(Vec::new()), |node| statuses(node, found));
        let settle = fields.take("settle_header").map(|node| header(node, "settle_header", found));
        let reason = fields.take("reason").map(|node| reason(node, found));
        let message = fields
            .take("message")
            .map(|node| choice::text(node, "message", MESSAGE_BYTES_MAX, found).map(Into::into));
        Some(Rest {
            mode: mode?,
            rollout_percent: rollout?,
            missing: missing?,
            trusts_upstream_claims: trusts?,
            consistency: consistency?,
            on_store_failure: on_store_failure?,
            table: table?,
            refund_statuses: refund?,
            settle_header: sound(settle)?,
            reason: sound(reason)?,
            message: sound(message)?,
        })
    }
}

/// `enforce`, `shadow` or `off`, or a mistake.
pub(super) fn mode(node: &Node<'_>, found: &mut Found) -> Option<Mode> {
    let cure = match node.scalar().unwrap_or_default() {
        "on" | "true" | "enabled" | "active" | "live" => {
            "write `mode: enforce`, or delete the field: it is the default"
        }
        "dry-run" | "dry_run" | "dryrun" | "log" | "report" | "monitor" | "observe" => "write `mode: shadow`",
        "false" | "disabled" | "inactive" | "none" => "write `mode: off`",
        _ => return choice::one_of(node, "mode", &MODES, found),
    };
    found.add(node.place, format!("`mode` cannot be {}", node.described()), cure);
    None
}

/// Absent or read; `None` if it was there and wrong.
#[expect(clippy::option_option, reason = "there and wrong, there and right, or not there")]
fn sound<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        Some(None) => None,
        Some(some) => Some(some),
        None => Some(None),
    }
}

/// A header's name, or a mistake.
pub(super) fn header(node: &Node<'_>, field: &str, found: &mut Found) -> Option<Box<str>> {
    let text = choice::text(node, field, 128, found)?;
    key_source::header_name(text).map_err(|cure| found.unfit(node, field, "the name of a header", cure)).ok()
}

/// A machine-readable reason: small letters, digits and underscores.
fn reason(node: &Node<'_>, found: &mut Found) -> Option<Box<str>> {
    let text = choice::text(node, "reason", 64, found)?;
    let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !text.bytes().all(is_fit) {
        let cure = "use small letters, digits and underscores, as in `search_quota_exceeded`; sentences go into `message`";
        found.unfit(node, "reason", "a reason that programs read", cure);
        return None;
    }
    Some(text.into())
}

/// `[500, 503]`, or whole classes: `5xx`.
fn statuses(node: &Node<'_>, found: &mut Found) -> Option<Vec<u16>> {
    let mut statuses = Vec::new();
    let items = choice::items(node, "refund_on", found);
    let mut is_sound = !items.is_empty();
    for item in items {
        let text = item.scalar().unwrap_or_default();
        match (text, text.parse::<u16>()) {
            ("2xx" | "3xx" | "4xx" | "5xx", _) => {
                let class = u16::from(text.as_bytes()[0] - b'0') * 100;
                statuses.extend(class..class + 100);
            }
            (_, Ok(status @ 100..=599)) => statuses.push(status),
            _ => {
                found.unfit(
                    item,
                    "refund_on",
                    "a status",
                    "write statuses from 100 to 599, or classes, as in `refund_on: [404, 5xx]`",
                );
                is_sound = false;
            }
        }
    }
    statuses.sort_unstable();
    statuses.dedup();
    is_sound.then_some(statuses)
}
