//! The buckets of a check by slot, in the order in which they are held; and what the slots said, put together as one answer.
//!
//! Narrow before broad, so that a client holds its own bucket before the one that everybody shares. Leaky buckets come last: a queue
//! gives back only who came last, and what is held last is never given back.

use tollgate::Breadth;
use tollgate_core::{Algorithm, BucketSet, Cost, Tokens};

use super::super::ready::{Ready, ReadyCharge};
use crate::{BucketTold, Charge, Checked, KeyName, Outcome, slot_of};

/// The buckets of a check that are in one slot.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) slot: u16,
    pub(super) charges: Vec<Charge>,
    /// Which charges of the check they are.
    positions: Vec<usize>,
    rank: Rank,
}

/// Who is held first.
type Rank = (bool, Breadth);

/// The groups of a check, in the order in which they are held.
pub(super) fn groups(ready: &Ready) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, (charge, asked)) in ready.charges.iter().zip(ready.asked()).enumerate() {
        let (slot, rank) = (slot_of(asked.key.as_bytes()), rank(charge));
        match groups.iter_mut().find(|group| group.slot == slot) {
            Some(group) => {
                group.charges.push(asked);
                group.positions.push(at);
                group.rank = group.rank.max(rank);
            }
            None => groups.push(Group { slot, charges: vec![asked], positions: vec![at], rank }),
        }
    }
    // Stable: buckets of the same breadth stay in the order of the policy, or of the call.
    groups.sort_by_key(|group| group.rank);
    groups
}

fn rank(charge: &ReadyCharge) -> Rank {
    let breadth = charge.rule.as_ref().map_or(Breadth::Client, |rule| rule.breadth);
    (matches!(charge.algorithm, Algorithm::LeakyBucket(_)), breadth)
}

impl Group {
    pub(super) fn keys(&self) -> Vec<KeyName> {
        self.charges.iter().map(|charge| charge.key.clone()).collect()
    }

    /// Each bucket once, and what all its charges cost.
    pub(super) fn costs(&self) -> Vec<(KeyName, Cost)> {
        let mut costs: Vec<(KeyName, Cost)> = Vec::with_capacity(self.charges.len());
        for charge in &self.charges {
            match costs.iter_mut().find(|(key, _)| *key == charge.key) {
                Some((_, cost)) => *cost = cost.plus(charge.cost),
                None => costs.push((charge.key.clone(), charge.cost)),
            }
        }
        costs
    }

    /// What each bucket held when it was looked at, by an answer in the whole.
    pub(super) fn looked_at(&self, checked: &Checked) -> impl Iterator<Item = (&KeyName, i64)> {
        checked.buckets.iter().filter_map(|bucket| {
            let (charge, cost) = self.charged(bucket)?;
            // A look that admits tells what a check would leave.
            let left = if checked.is_admitted() { cost.as_micros() } else { 0 };
            Some((&charge.key, bucket.balance.saturating_add_unsigned(left)))
        })
    }

    /// The same answer, by the positions that charges have in the whole check.
    pub(super) fn in_the_whole(&self, mut checked: Checked) -> Checked {
        for bucket in &mut checked.buckets {
            bucket.members = bucket.members.iter().filter_map(|at| self.positions.get(at)).fold(
                BucketSet::EMPTY,
                |mut members, at| {
                    members.insert(*at);
                    members
                },
            );
        }
        checked
    }

    /// The charge that a bucket of an answer in the whole was made by, and what it costs.
    pub(super) fn charged(&self, bucket: &BucketTold) -> Option<(&Charge, Cost)> {
        let mine = || {
            let charges = self.positions.iter().zip(&self.charges);
            charges.filter(|(at, _)| bucket.members.contains(**at)).map(|(_, charge)| charge)
        };
        let charge = mine().next()?;
        let cost = mine().fold(0_u64, |sum, charge| sum.saturating_add(charge.cost.as_micros()));
        // As the script has charged it.
        let step = charge.limit.step();
        Some((charge, Cost::micros(cost.div_ceil(step).saturating_mul(step))))
    }

    /// What was told of buckets that were charged, or would be, as if they had not been.
    fn uncharged(&self, mut checked: Checked) -> Checked {
        let now = checked.now_micros;
        for bucket in &mut checked.buckets {
            let Some((charge, cost)) = self.charged(bucket) else { continue };
            bucket.balance = bucket.balance.saturating_add_unsigned(cost.as_micros());
            bucket.remaining = Tokens::from_micros(bucket.balance.max(0).unsigned_abs());
            let ahead = bucket.receipt.made_micros.saturating_sub(now);
            if let Some(span) = charge.limit.time_to_full(bucket.balance, now, ahead) {
                bucket.time_to_full = span;
            }
        }
        checked
    }
}

/// One answer of what the groups were told, in their order. If one denies, nothing is charged, and all are told so.
pub(super) fn joined(groups: &[Group], told: Vec<Checked>) -> Checked {
    let has = |outcome: Outcome| told.iter().any(|checked| checked.outcome == outcome);
    let outcome = if has(Outcome::Never) {
        Outcome::Never
    } else if has(Outcome::Denied) {
        Outcome::Denied
    } else {
        Outcome::Admitted
    };
    let mut whole = Checked { outcome, is_retold: false, now_micros: 0, buckets: Vec::new() };
    for (group, checked) in groups.iter().zip(told) {
        let is_to_be_freed = checked.is_admitted() && outcome != Outcome::Admitted;
        let checked = if is_to_be_freed { group.uncharged(checked) } else { checked };
        whole.now_micros = whole.now_micros.max(checked.now_micros);
        whole.buckets.extend(checked.buckets);
    }
    whole.buckets.sort_by_key(|bucket| bucket.members.iter().next());
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::late::Late;
    use crate::ledger::rules::Rules;
    use crate::{KeySpace, Receipt, SharedLimit};
    use tollgate::ledger::LedgerRule;
    use tollgate::policy::{Action, OnStoreFailure, Policy, StoreSettings};
    use tollgate_core::{Burst, Limit, Moment, Rate, Span};

    /// One charge for each rule of a policy: `e`verybody, a `g`roup or a `c`lient each, leaky if in capitals.
    fn ready(kinds: &str) -> Ready {
        let rules: Vec<String> = kinds
            .chars()
            .enumerate()
            .map(|(at, kind)| {
                let limit =
                    if kind.is_uppercase() { "algorithm: leaky_bucket, queue: 9" } else { "burst: 9" };
                format!("{{name: r{at}, scope: ip, rate: 1/s, {limit}}}")
            })
            .collect();
        let policy = Policy::parse("p.yaml", &format!("rules: [{}]", rules.join(", "))).unwrap();
        let declared: Vec<LedgerRule<'_>> = policy
            .rules
            .iter()
            .zip(kinds.chars())
            .map(|(rule, kind)| {
                let Action::Limit(algorithm) = rule.action else { panic!("{rule:?}") };
                let breadth = match kind.to_ascii_lowercase() {
                    'e' => Breadth::Everyone,
                    'g' => Breadth::Group,
                    _ => Breadth::Client,
                };
                LedgerRule {
                    policy: "p",
                    name: &rule.name,
                    is_shadow: false,
                    algorithm,
                    breadth,
                    on_store_failure: OnStoreFailure::Local,
                    is_leased: false,
                }
            })
            .collect();
        let rules = Rules::default();
        let numbers = rules.declare(&StoreSettings::default(), &declared, Moment::default()).unwrap();
        let limit = Limit::new(Rate::per_second(1), Burst::tokens(9)).unwrap();
        let charges =
            numbers.into_iter().zip(&declared).enumerate().map(|(at, (number, rule))| ReadyCharge {
                key: KeySpace::default().explicit(at).unwrap(),
                limit: SharedLimit::explicit(&limit).ok(),
                algorithm: rule.algorithm,
                alone: rule.algorithm,
                cost: Cost::ONE,
                on_failure: OnStoreFailure::Local,
                is_leased: false,
                rule: rules.get(number),
            });
        Ready { charges: charges.collect(), is_agreed: true, late: Late::default() }
    }

    fn order(kinds: &str) -> Vec<usize> {
        groups(&ready(kinds)).iter().flat_map(|group| group.positions.clone()).collect()
    }

    #[test]
    fn narrow_is_held_before_broad_and_a_queue_last() {
        assert_eq!(order("egc"), [2, 1, 0]);
        assert_eq!(order("ccge"), [0, 1, 2, 3], "those alike stay as they were");
        assert_eq!(order("Cge"), [1, 2, 0]);
        assert_eq!(order("EC"), [1, 0]);
    }

    #[test]
    fn buckets_of_one_slot_are_held_together() {
        let mut ready = ready("cec");
        ready.charges[2].key = ready.charges[0].key.clone();
        let groups = groups(&ready);
        assert_eq!(
            groups.iter().map(|group| group.positions.clone()).collect::<Vec<_>>(),
            [vec![0, 2], vec![1]]
        );
    }

    fn told(at: usize, balance: i64, wait: Option<Span>) -> BucketTold {
        BucketTold {
            members: BucketSet::of(at),
            balance,
            remaining: Tokens::from_micros(balance.unsigned_abs()),
            wait,
            delay: Span::ZERO,
            receipt: Receipt { paid: balance, made_micros: 1_000 },
            time_to_full: Span::ZERO,
        }
    }

    fn said(outcome: Outcome, bucket: BucketTold) -> Checked {
        Checked { outcome, is_retold: false, now_micros: 1_000, buckets: vec![bucket] }
    }

    #[test]
    fn where_one_denies_the_others_are_told_as_they_were_before() {
        let groups = groups(&ready("gc"));
        let parts = [
            said(Outcome::Admitted, told(0, 4_000_000, Some(Span::ZERO))),
            said(Outcome::Denied, told(0, 0, Some(Span::from_secs(1)))),
        ];
        let told: Vec<Checked> =
            groups.iter().zip(parts).map(|(group, checked)| group.in_the_whole(checked)).collect();
        let whole = joined(&groups, told);
        assert_eq!(whole.outcome, Outcome::Denied);
        assert_eq!(whole.buckets.iter().map(|bucket| bucket.balance).collect::<Vec<_>>(), [0, 5_000_000]);
        assert_eq!(whole.buckets[1].time_to_full, Span::from_secs(4));
        assert_eq!(whole.buckets[0].members, BucketSet::of(0), "by their place in the whole");
    }

    #[test]
    fn what_can_never_be_admitted_is_said_before_what_is_denied() {
        let groups = groups(&ready("gc"));
        let outcome = |one, other| {
            let parts = vec![said(one, told(1, 0, None)), said(other, told(0, 0, Some(Span::from_secs(1))))];
            joined(&groups, parts).outcome
        };
        assert_eq!(outcome(Outcome::Never, Outcome::Denied), Outcome::Never);
        assert_eq!(outcome(Outcome::Admitted, Outcome::Denied), Outcome::Denied);
        assert_eq!(outcome(Outcome::Admitted, Outcome::Admitted), Outcome::Admitted);
    }
}
