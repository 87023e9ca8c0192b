//! What makes no sense is refused, with a typed error, and changes nothing.

use tollgate::{
    BuildError, CHARGES_MAX, CheckError, Cost, ExplicitVerdict, KEYS_MAX, Limiter, Span, Verdict,
};

use super::world::{per_second, roomy};

fn error(told: ExplicitVerdict) -> CheckError {
    let Verdict::Invalid(error) = told.verdict else { panic!("{told:?}") };
    error
}

#[test]
fn keys_follow_the_rules_of_all_keys() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 1));
    let giant = "k".repeat(513);
    assert_eq!(error(explicit.check("", &limit, Cost::ONE)), CheckError::EmptyKey);
    assert_eq!(error(explicit.check(&giant, &limit, Cost::ONE)), CheckError::KeyTooLong { bytes: 513 });
    assert_eq!(error(explicit.peek("", &limit, Cost::ONE)), CheckError::EmptyKey);
    assert_eq!(explicit.refund("", &limit, Cost::ONE), Err(CheckError::EmptyKey));
    assert_eq!(explicit.reset(&giant), Err(CheckError::KeyTooLong { bytes: 513 }));
    assert!(explicit.check("k".repeat(512), &limit, Cost::ONE).is_admitted());
}

#[test]
fn a_cost_of_nothing_is_refused() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 1));
    assert_eq!(error(explicit.check("a", &limit, Cost::micros(0))), CheckError::ZeroCost);
    assert_eq!(explicit.refund("a", &limit, Cost::micros(0)), Err(CheckError::ZeroCost));
    let mut verdicts = Vec::new();
    explicit.check_each(&[explicit.charge("a", &limit, Cost::micros(0))], &mut verdicts);
    assert_eq!(error(verdicts[0]), CheckError::ZeroCost);
}

#[test]
fn no_charges_too_many_and_those_of_another_limiter_are_refused() {
    let (limiter, _) = roomy();
    let (other, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 1));
    assert_eq!(error(explicit.check_all(&[])), CheckError::NoCharges);
    let many = [explicit.charge("a", &limit, Cost::ONE); CHARGES_MAX + 1];
    assert_eq!(error(explicit.check_all(&many)), CheckError::TooManyCharges { charges: CHARGES_MAX + 1 });
    let foreign = [explicit.charge("a", &limit, Cost::ONE), other.explicit().charge("b", &limit, Cost::ONE)];
    assert_eq!(error(explicit.check_all(&foreign)), CheckError::ForeignCharge { charge: 1 });
    let mut verdicts = Vec::new();
    explicit.check_each(&foreign, &mut verdicts);
    assert!(verdicts[0].is_admitted());
    assert_eq!(error(verdicts[1]), CheckError::ForeignCharge { charge: 1 });
    assert!(explicit.reserve(&foreign, Span::from_secs(1)).is_err());
}

#[test]
fn one_key_under_two_limits_in_one_check_is_refused() {
    let (limiter, _) = roomy();
    let explicit = limiter.explicit();
    let two = [
        explicit.charge("a", &per_second(1, 1), Cost::ONE),
        explicit.charge("a", &per_second(1, 2), Cost::ONE),
    ];
    assert_eq!(error(explicit.check_all(&two)), CheckError::TierConflict { charge: 1 });
    assert_eq!(error(explicit.peek_all(&two)), CheckError::TierConflict { charge: 1 });
    assert_eq!(limiter.stats().explicit.slots_taken, 0);
}

#[test]
fn a_table_of_no_size_and_one_of_any_size_are_refused_with_a_cure() {
    let build = |keys| Limiter::builder().explicit_keys_max(keys).build(per_second(1, 1)).unwrap_err();
    assert_eq!(build(0), BuildError::ZeroExplicitKeys);
    assert_eq!(
        build(0).to_string(),
        "`explicit_keys_max` is 0, which leaves no room for any client; use 1 or more (the default is 100000, which take no \
         memory before they are used)"
    );
    let keys = KEYS_MAX + 1;
    assert_eq!(build(keys).to_string(), format!("`explicit_keys_max` is {keys}; use at most {KEYS_MAX}"));
    let error = BuildError::NoMemoryForExplicit { keys: 7 };
    assert_eq!(
        error.to_string(),
        "`explicit_keys_max` is 7, at 45.5 bytes each more than there is memory; use fewer"
    );
}
