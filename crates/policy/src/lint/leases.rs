//! Rules that had better be leased, and rules that say they are and cannot be (S4).
//!
//! Silent about buckets that could be leased in a policy that says nothing of a store: limits in memory lease nothing.

use tollgate_core::{Limit, Span, Tokens};

use super::{Book, Lint, LintKind, Subject};
use crate::store_settings::{INSTANCES_MAX, LEASE};
use crate::{Action, CannotLease, Consistency, KeySource, Policy, Rule, Scope};

/// No rate is above so many tokens per second.
const PER_SECOND_MAX: u128 = 1_000_000_000;
/// No burst is above so many tokens.
const BURST_MAX: Tokens = Tokens::from_micros(1_000_000_000_000 * 1_000_000);

/// `exact-shared-tier` and `cannot-lease`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let is_leased = |rule: &Rule| rule.consistency == Consistency::Leased;
    let has_store = book.policy.store.is_some() || book.policy.rules.iter().any(is_leased);
    let judge = |subject: &Subject<'_>| match (subject.rule.consistency, book.policy.can_lease(subject.rule))
    {
        (Consistency::Exact, Ok(())) if has_store && is_shared(subject.rule) => {
            Some(could_lease(subject, book.policy))
        }
        (Consistency::Leased, Err(why)) => Some(cannot_lease(subject, book.policy, why)),
        _ => None,
    };
    found.extend(book.rules().filter_map(judge));
}

/// Whether many clients share one of its buckets.
fn is_shared(rule: &Rule) -> bool {
    let has_one_bucket = rule.keys.iter().all(|key| matches!(key, KeySource::Constant(_)));
    has_one_bucket || matches!(rule.scope, Scope::Global | Scope::Organisation)
}

fn could_lease(subject: &Subject<'_>, policy: &Policy) -> Lint {
    let most = if names_instances(policy) {
        String::new()
    } else {
        format!(
            " (up to {} of them)",
            subject.rule.leasing_instances_max(policy.lease()).min(INSTANCES_MAX.into())
        )
    };
    let message = "many clients share its bucket, and the store is asked for each of their requests";
    let cure =
        format!("write `consistency: leased`: instances{most} then take tokens ahead, within the same bound");
    subject.lint(LintKind::ExactSharedTier, message, cure)
}

fn cannot_lease(subject: &Subject<'_>, policy: &Policy, why: CannotLease) -> Lint {
    let (message, cure) = match (why, subject.rule.action) {
        (CannotLease::TooSmall { burst_min, minted_min }, _) => {
            too_small(subject.rule, policy, burst_min, minted_min)
        }
        (CannotLease::NoTokenBucket, Action::Limit(algorithm)) => (
            format!("only token buckets can be leased, and this is a `{}`: it stays exact", algorithm.name()),
            "delete `consistency`, or use `token_bucket`".to_owned(),
        ),
        (CannotLease::NoTokenBucket, Action::Allow | Action::Block) => {
            ("it has no bucket that could be leased".to_owned(), "delete `consistency`".to_owned())
        }
    };
    subject.lint(LintKind::CannotLease, message, cure)
}

/// Which figures are too small, and what they must be.
fn too_small(
    rule: &Rule,
    policy: &Policy,
    burst_min: Option<Tokens>,
    minted_min: Option<Tokens>,
) -> (String, String) {
    let Some(limit) = rule.token_bucket() else { return Default::default() };
    let (mut faults, mut cures) = (Vec::new(), Vec::new());
    if let Some(needed) = burst_min {
        faults.push(format!("`burst` is {}, less than {needed}", limit.burst()));
        cures.push(if needed > BURST_MAX { None } else { Some(format!("`burst: {needed}` or more")) });
    }
    if let Some(needed) = minted_min {
        let (lease, minted) = (policy.lease(), limit.minted_in(policy.lease()));
        faults.push(format!("its rate brings back {minted} in the {lease} of a lease, less than {needed}"));
        cures.push(faster(&limit, needed, lease));
    }
    let whom = match policy.instances_at_least() {
        _ if !names_instances(policy) => "one instance (`instances_max` is not said)".to_owned(),
        1 => "one instance".to_owned(),
        instances => format!("{instances} instances"),
    };
    let message = format!(
        "it stays exact, being too small to be leased to {whom} at a cost of {}: {}",
        rule.cost.default,
        faults.join(", and ")
    );
    let cure = match cures.into_iter().collect::<Option<Vec<_>>>() {
        Some(cures) => format!("write {}; or delete `consistency`", cures.join(", and ")),
        None => "delete `consistency`".to_owned(),
    };
    (message, cure)
}

/// The rate that brings back enough in a lease, and the lease in which this rate does, as far as there are such.
fn faster(limit: &Limit, needed: Tokens, lease: Span) -> Option<String> {
    let micros_second = u128::from(needed.as_micros()) * 1_000_000_000;
    let per_second = micros_second.div_ceil(u128::from(lease.as_nanos()).max(1) * 1_000_000);
    let millis = limit.time_to_mint(needed).as_nanos().div_ceil(1_000_000);
    let longer =
        Some(millis).filter(|millis| *millis <= LEASE.1.as_nanos() / 1_000_000).map(Span::from_millis);
    match (per_second <= PER_SECOND_MAX, longer) {
        (true, Some(longer)) => {
            Some(format!("`rate: {per_second}/s` or more or, in `store`, `lease: {longer}`"))
        }
        (true, None) => Some(format!("`rate: {per_second}/s` or more")),
        (false, Some(longer)) => Some(format!("in `store`, `lease: {longer}`")),
        (false, None) => None,
    }
}

fn names_instances(policy: &Policy) -> bool {
    policy.store.as_ref().is_some_and(|store| store.instances_max.is_some())
}

#[cfg(test)]
mod tests;
