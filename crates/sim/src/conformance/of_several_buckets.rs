//! Scenarios with several buckets: A5, keys and rules that must not mix (K1), batches, and checks that are at fault.

use std::net::{IpAddr, Ipv4Addr};

use tollgate_core::{CHARGES_MAX, Cost, Rate, Span};

use super::answer::{Fault, Outcome};
use super::stage::{Played, Stage, admit, charge, deny, limit, never};
use super::subject::{Breadth, Charge, KEY_BYTES_MAX, Key, RuleId};

/// A5. Elsewhere one user's rejected requests drain the global bucket.
pub(super) fn one_denial_charges_none(stage: &mut Stage<'_>) -> Played {
    let [user, endpoint, everyone] = three_rules(stage);
    let check = [
        charge(user, "a", Cost::ONE),
        charge(endpoint, "/search", Cost::tokens(2)),
        charge(everyone, "all", Cost::ONE),
    ];
    stage.expect_all(&check, admit(0))?;
    for _ in 0..50 {
        stage.expect_all(&check, deny(Span::from_secs(1), 0, &[0]))?;
    }
    stage.expect_peek(&charge(endpoint, "/search", Cost::ONE), admit(17_000_000))?;
    stage.expect_peek(&charge(everyone, "all", Cost::ONE), admit(98_000_000))
}

/// A5.
pub(super) fn a_denial_names_every_bucket_and_the_longest_wait(stage: &mut Stage<'_>) -> Played {
    let [user, endpoint, everyone] = three_rules(stage);
    stage.expect_admitted(&charge(user, "a", Cost::ONE))?;
    stage.expect_admitted(&charge(everyone, "all", Cost::micros(99_500_000)))?;
    let check = [
        charge(everyone, "all", Cost::tokens(4)),
        charge(endpoint, "/search", Cost::ONE),
        charge(user, "a", Cost::micros(500_000)),
    ];
    stage.expect_all(&check, deny(Span::from_millis(1_750), 0, &[0, 2]))?;
    stage.pass(Span::from_millis(500));
    stage.expect_all(&check, deny(Span::from_millis(1_250), 1_500_000, &[0]))?;
    stage.pass(Span::from_millis(1_250));
    stage.expect_all(&check, admit(0))
}

/// A5, A7.
pub(super) fn one_bucket_too_small_makes_it_never(stage: &mut Stage<'_>) -> Played {
    let [user, endpoint, everyone] = three_rules(stage);
    stage.expect_admitted(&charge(everyone, "all", Cost::tokens(100)))?;
    let check = [charge(everyone, "all", Cost::ONE), charge(endpoint, "/search", Cost::tokens(21))];
    stage.expect_all(&check, never(&[1]))?;
    stage.expect(&charge(user, "a", Cost::ONE), admit(0))
}

/// A5: two charges to one bucket are one charge of both.
pub(super) fn the_same_bucket_twice_pays_for_both(stage: &mut Stage<'_>) -> Played {
    let [user, endpoint, _] = three_rules(stage);
    let search = |tokens| charge(endpoint, "/search", Cost::tokens(tokens));
    stage.expect_all(&[search(8), search(4)], admit(8_000_000))?;
    let check = [search(4), charge(user, "a", Cost::ONE), search(5)];
    stage.expect_all(&check, deny(Span::from_millis(250), 8_000_000, &[0, 2]))?;
    stage.expect_all(&[search(11), search(10)], never(&[0, 1]))?;
    stage.expect_all(&[search(4), charge(user, "a", Cost::ONE), search(4)], admit(0))
}

/// The same, for buckets that the store has never seen, beside one that denies.
pub(super) fn the_same_new_bucket_twice_is_judged_as_one(stage: &mut Stage<'_>) -> Played {
    let [user, endpoint, _] = three_rules(stage);
    stage.expect_admitted(&charge(user, "a", Cost::ONE))?;
    let search = charge(endpoint, "/new", Cost::tokens(11));
    stage.expect_all(&[charge(user, "a", Cost::ONE), search.clone(), search], never(&[1, 2]))
}

/// K1.
pub(super) fn user_42_and_address_42_do_not_share(stage: &mut Stage<'_>) -> Played {
    let fifty = limit(Rate::per_second(1), 1);
    let (user, address) = (stage.rule("user", fifty), stage.rule("address", fifty));
    let keys = || {
        let v4 = IpAddr::V4(Ipv4Addr::new(0, 0, 0, 42));
        [Key::from("42"), Key::Number(42), Key::Address(v4), Key::Bytes(42_u64.to_le_bytes().to_vec())]
    };
    for rule in [user, address] {
        for key in keys() {
            stage.expect(&Charge { rule, key, cost: Cost::ONE, left_alone: 0 }, admit(0))?;
        }
    }
    for key in keys() {
        stage.expect_denied(&Charge { rule: user, key, cost: Cost::ONE, left_alone: 0 })?;
    }
    Ok(())
}

/// Names and keys that run into each other when they are simply joined.
pub(super) fn separators_in_keys_do_not_mix_buckets(stage: &mut Stage<'_>) -> Played {
    let one = limit(Rate::per_second(1), 1);
    for (name, key) in [("a", "b:c"), ("a:b", "c"), ("a:", "b:c"), ("a:b:", "c")] {
        let rule = stage.rule(name, one);
        stage.expect(&charge(rule, key, Cost::ONE), admit(0))?;
    }
    Ok(())
}

/// A batch is its checks, one after the other.
pub(super) fn a_batch_decides_each_check_by_itself(stage: &mut Stage<'_>) -> Played {
    let [user, endpoint, _] = three_rules(stage);
    let batch = [
        charge(user, "a", Cost::ONE),
        charge(user, "a", Cost::ONE),
        charge(endpoint, "/search", Cost::tokens(21)),
        charge(user, "", Cost::ONE),
        charge(user, "b", Cost::ONE),
    ];
    let denied = deny(Span::from_secs(1), 0, &[0]);
    stage
        .expect_each(&batch, &[admit(0), denied, never(&[0]), Outcome::Invalid(Fault::EmptyKey), admit(0)])?;
    stage.expect_each(&[], &[])?;
    // More than fit into one fetch.
    let many: Vec<Charge> = (0..40).map(|_| charge(endpoint, "/many", Cost::ONE)).collect();
    let outcomes: Vec<Outcome> = (1..=40)
        .map(|spent| if spent <= 20 { admit(20_000_000 - spent * 1_000_000) } else { deny_endpoint() })
        .collect();
    stage.expect_each(&many, &outcomes)
}

/// A check that is at fault is told so, and charges nothing.
pub(super) fn a_check_at_fault_charges_nothing(stage: &mut Stage<'_>) -> Played {
    let [user, endpoint, _] = three_rules(stage);
    let tier = stage.tier(endpoint, "gold", limit(Rate::per_second(8), 40))?;
    let long =
        |bytes| Charge { rule: user, key: Key::Bytes(vec![b'k'; bytes]), cost: Cost::ONE, left_alone: 0 };
    let good = charge(endpoint, "/search", Cost::ONE);
    let too_many: Vec<Charge> =
        (0..=CHARGES_MAX).map(|key| charge(user, &key.to_string(), Cost::ONE)).collect();
    for (fault, charges) in [
        (Fault::NoCharges, Vec::new()),
        (Fault::TooManyCharges, too_many),
        (Fault::EmptyKey, vec![good.clone(), charge(user, "", Cost::ONE)]),
        (Fault::KeyTooLong, vec![good.clone(), long(KEY_BYTES_MAX + 1)]),
        (Fault::ZeroCost, vec![good.clone(), charge(user, "a", Cost::micros(0))]),
        (Fault::TierConflict, vec![good.clone(), charge(tier, "/search", Cost::ONE)]),
    ] {
        stage.expect_all(&charges, Outcome::Invalid(fault))?;
    }
    stage.expect(&charge(user, "", Cost::ONE), Outcome::Invalid(Fault::EmptyKey))?;
    stage.expect(&charge(user, "a", Cost::micros(0)), Outcome::Invalid(Fault::ZeroCost))?;
    stage.expect(&long(KEY_BYTES_MAX + 1), Outcome::Invalid(Fault::KeyTooLong))?;
    stage.expect(&long(KEY_BYTES_MAX), admit(0))?;
    stage.expect(&good, admit(19_000_000))
}

/// User 1/s burst 1, endpoint 4/s burst 20, everyone 2/s burst 100.
fn three_rules(stage: &mut Stage<'_>) -> [RuleId; 3] {
    [
        stage.rule("user", limit(Rate::per_second(1), 1)),
        stage.shared_rule("endpoint", Breadth::Group, limit(Rate::per_second(4), 20)),
        stage.shared_rule("everyone", Breadth::Everyone, limit(Rate::per_second(2), 100)),
    ]
}

/// An empty bucket of the endpoint rule.
fn deny_endpoint() -> Outcome {
    deny(Span::from_millis(250), 0, &[0])
}
