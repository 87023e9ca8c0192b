//! One short sentence for what became of a rule, a kill switch or a cost.

use tollgate_core::Span;

use super::Outcome;
use super::why_not::why_not;
use super::{ambiguous, store};
use crate::condition::reading::{Reading, View};
use crate::cost::Price;
use crate::path::PathForm;
use crate::request::Request;
use crate::rule_book::{SHADOW_HITS_MAX, Standing, Step, governs};
use crate::{
    Action, Condition, CostPlan, CostSource, KillSwitch, Missing, Mode, Policy, Rule, RuleBook, span_text,
};

/// Why a rule fared as it did.
pub(super) fn of_rule(
    book: &RuleBook,
    position: usize,
    rule: &Rule,
    step: Step,
    outcome: Outcome,
    request: &Request<'_>,
) -> String {
    let policy = book.policy();
    let part = |part: usize| rule.keys.get(part).map_or_else(String::new, ToString::to_string);
    let lack = |lacking: usize| match ambiguous::key_part(rule, request) {
        Some(ambiguous) => format!("{ambiguous}; it counts as missing, so the rule denies the request"),
        None => format!("the request has no `{}`, which the rule requires", part(lacking)),
    };
    match step {
        Step::Off if policy.mode == Mode::Off => "the whole policy is off".to_owned(),
        Step::Off => "it is off".to_owned(),
        Step::Unmatched => {
            let view = book.failing_view(position, rule, request);
            why_not(&rule.condition, request, view)
                + &ambiguous::note(&rule.condition, request, view.trusts_upstream, view.reading)
        }
        Step::Skipped { part: lacking } => match ambiguous::key_part(rule, request) {
            Some(ambiguous) => format!("{ambiguous}; it counts as missing, and the rule skips such requests"),
            None => format!("the request lacks `{}`, and the rule skips such requests", part(lacking)),
        },
        Step::Displaced { by } => {
            let group = rule.group.and_then(|group| policy.groups.get(group));
            let group = group.map_or("its group", |group| &group.name);
            let by = policy.rules.get(by).map_or("an earlier rule", |rule| &rule.name);
            format!("of `{group}` the first rule that matches applies, which is `{by}`")
        }
        Step::Applies { standing, lacks } => {
            let mut sentence = match (outcome, lacks) {
                (Outcome::Overruled, _) => why_overruled(rule, standing, lacks.map(part)),
                (_, Some(lacking)) => lack(lacking),
                (_, None) => why(rule, request),
            };
            let view = book.view_of(position, rule);
            sentence.push_str(&ambiguous::note(&rule.condition, request, view.trusts_upstream, view.reading));
            sentence.push_str(watching(policy, standing));
            if outcome == Outcome::Charges {
                sentence.push_str(&store::of_rule(policy, rule));
            }
            sentence
        }
    }
}

fn why(rule: &Rule, request: &Request<'_>) -> String {
    let matches = match rule.condition {
        Condition::Always => "it governs every request",
        _ => "its condition holds",
    };
    let is_limit = matches!(rule.action, Action::Limit(_));
    if let Some(ambiguous) = ambiguous::key_part(rule, request).filter(|_| is_limit) {
        return format!(
            "{matches}; {ambiguous}; it counts as missing, so the request is charged to the shared anonymous bucket"
        );
    }
    let lacks = match rule.missing {
        Missing::Anonymous => {
            crate::key::first_missing(rule, request).and_then(|(part, _)| rule.keys.get(part))
        }
        Missing::Skip | Missing::Deny => None,
    };
    match lacks {
        Some(source) if is_limit => {
            format!("{matches}; without `{source}`, the request is charged to the shared anonymous bucket")
        }
        _ => matches.to_owned(),
    }
}

fn why_overruled(rule: &Rule, standing: Standing, lacks: Option<String>) -> String {
    let watches = standing != Standing::Enforced;
    match (rule.action, lacks) {
        (Action::Limit(_), Some(lacking)) if watches => {
            format!("the request lacks `{lacking}`, for which the rule would refuse it")
        }
        (Action::Block, _) if watches => "its condition holds, and it would refuse the request".to_owned(),
        (Action::Allow, _) if watches => {
            "its condition holds, and it would let the request through".to_owned()
        }
        (Action::Limit(_), None) if watches => format!(
            "its condition holds, but something stronger decides, or {SHADOW_HITS_MAX} rules that only watch come before it"
        ),
        _ => "its condition holds, but something stronger or earlier decides".to_owned(),
    }
}

fn watching(policy: &Policy, standing: Standing) -> &'static str {
    match standing {
        Standing::Enforced => "",
        Standing::Shadow if policy.mode == Mode::Shadow => "; it only watches, as the whole policy does",
        Standing::Shadow => "; it only watches, since it is in shadow",
        Standing::OutsideRollout => "; it only watches, since its roll-out has not come to this key",
    }
}

/// Where a cost comes from.
pub(super) fn of_price(plan: &CostPlan, price: Price, request: &Request<'_>) -> String {
    let source = match &plan.source {
        CostSource::Fixed => return "a fixed cost".to_owned(),
        CostSource::PerMethod(_) if price.said.is_none() => {
            "the default, since no cost is set for the method".to_owned()
        }
        CostSource::PerMethod(_) => "the cost of the method".to_owned(),
        CostSource::Header(name) => format!("`header:{name}`"),
        CostSource::Query(name) => format!("`query:{name}`"),
        CostSource::RequestBytes { per_token } => match request.facts.body_bytes {
            Some(bytes) => format!("{bytes} bytes of body at {per_token} to a token"),
            None => {
                return "the default, since no `Content-Length` announces the length of the body".to_owned();
            }
        },
    };
    match price.said {
        None if price.was_unusable => format!("the default, since {source} says no usable number"),
        Some(said) if said > price.cost => format!("{source}: {said}, cut down to the most"),
        Some(said) if said < price.cost => format!("{source}: {said}, raised to the least"),
        Some(said) => format!("{source}: {said}"),
        None => source,
    }
}

/// Why a kill switch does not apply; `None` if it does.
pub(super) fn why_switch_does_not_apply(
    policy: &Policy,
    switch: &KillSwitch,
    request: &Request<'_>,
    unix_s: u64,
) -> Option<String> {
    if policy.mode != Mode::Enforce {
        return Some(format!("the whole policy is in mode {}, so nobody is refused", policy.mode.name()));
    }
    if let Some(until) = switch.until_unix_s.filter(|until| *until <= unix_s) {
        let ago = match unix_s - until {
            seconds @ ..60 => format!("{seconds} s"),
            seconds => span_text(Span::from_secs(seconds)),
        };
        return Some(format!("it expired {ago} ago"));
    }
    let view =
        View { trusts_upstream: switch.trusts_upstream_claims, reading: Reading::Wide, form: PathForm::SENT };
    (!governs(switch, request)).then(|| why_not(&switch.condition, request, view))
}
