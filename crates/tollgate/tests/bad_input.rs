//! Bad input: every refusal is a typed error that names the field, the value and the cure, and nothing panics.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{
    Breadth, BucketSet, BuildError, Burst, CheckError, Clock, Cost, FloatFault, KEY_BYTES_MAX, KEYS_MAX,
    LIMITS_MAX, Limit, LimitError, Limiter, Moment, NAME_BYTES_MAX, Rate, RuleError, Span, Verdict,
};

fn limit() -> Limit {
    Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap()
}

fn limiter() -> Limiter {
    Limiter::new(limit())
}

#[test]
fn a_table_without_room_is_refused() {
    let error = Limiter::builder().keys_max(0).build(limit()).unwrap_err();
    assert_eq!(error, BuildError::ZeroKeys);
    assert_eq!(
        error.to_string(),
        "`keys_max` is 0, which leaves no room for any client; use 1 or more (the default is 100000)"
    );
}

#[test]
fn a_table_beyond_counting_is_refused_and_not_allocated() {
    for keys in [KEYS_MAX + 1, usize::MAX] {
        let error = Limiter::builder().keys_max(keys).build(limit()).unwrap_err();
        assert_eq!(error, BuildError::TooManyKeys { keys });
        assert_eq!(error.to_string(), format!("`keys_max` is {keys}; use at most {KEYS_MAX}"));
    }
}

#[test]
fn a_table_for_one_client_works() {
    let limiter = Limiter::builder().keys_max(1).build(limit()).unwrap();
    assert_eq!(
        (0..60).filter(|_| limiter.check_at((), Cost::ONE, limiter_start()).is_admitted()).count(),
        50
    );
    assert_eq!(limiter.stats().keys_max, 1);
}

fn limiter_start() -> Moment {
    Moment::from_nanos(1_000_000_000)
}

#[test]
fn a_rule_without_a_name_is_refused() {
    let error = limiter().rule("", limit()).unwrap_err();
    assert_eq!(error, RuleError::EmptyName);
    assert_eq!(error.to_string(), "`name` is empty; name the rule, for instance after what it protects");
}

#[test]
fn a_name_that_is_too_long_is_refused() {
    let (limiter, longest) = (limiter(), "n".repeat(NAME_BYTES_MAX));
    assert!(limiter.rule(&longest, limit()).is_ok());
    assert!(limiter.default_rule().tier(&longest, limit()).is_ok());
    let too_long = "n".repeat(NAME_BYTES_MAX + 1);
    let error = limiter.rule(&too_long, limit()).unwrap_err();
    assert_eq!(error, RuleError::NameTooLong { bytes: 129 });
    assert_eq!(error.to_string(), "`name` has 129 bytes; use at most 128");
    assert_eq!(limiter.default_rule().tier(&too_long, limit()).unwrap_err(), error);
}

#[test]
fn a_rule_declared_again_with_another_breadth_is_refused() {
    let limiter = limiter();
    limiter.shared_rule("endpoint", limit(), Breadth::Group).unwrap();
    let error = limiter.shared_rule("endpoint", limit(), Breadth::Everyone).unwrap_err();
    assert_eq!(error, RuleError::BreadthConflict { is: Breadth::Group, asked: Breadth::Everyone });
    assert_eq!(
        error.to_string(),
        "`breadth` is Everyone, but the rule was declared with Group, and checks under way rely on that; declare it \
         under another name"
    );
    assert!(limiter.rule("endpoint", limit()).is_err(), "a plain rule is one for each client");
}

#[test]
fn more_limits_than_can_be_numbered_are_refused_and_the_rest_go_on() {
    let limiter = limiter();
    let rule = limiter.default_rule();
    // One is the default rule's own.
    for tier in 1..LIMITS_MAX {
        rule.tier(&tier.to_string(), limit()).unwrap();
    }
    let error = rule.tier("one more", limit()).unwrap_err();
    assert_eq!(error, RuleError::TooManyLimits);
    assert_eq!(
        error.to_string(),
        "`limit` would be one of more than 65535 in this limiter; let clients share tiers, or use a second limiter"
    );
    assert_eq!(limiter.rule("another", limit()).unwrap_err(), error);
    let last = rule.tier(&(LIMITS_MAX - 1).to_string(), limit()).unwrap();
    assert!(last.check("alice").is_admitted());
}

#[test]
fn an_empty_key_is_refused() {
    let limiter = limiter();
    for verdict in [limiter.check(""), limiter.check([0_u8; 0]), limiter.peek(Vec::new())] {
        assert_eq!(verdict, Verdict::Invalid(CheckError::EmptyKey));
    }
    assert_eq!(
        CheckError::EmptyKey.to_string(),
        "`key` is empty; give the client's identity, or `()` for one bucket that all share"
    );
    assert_eq!(limiter.stats().slots_taken, 0);
}

#[test]
fn a_giant_key_is_refused() {
    let limiter = limiter();
    assert!(limiter.check(vec![b'k'; KEY_BYTES_MAX]).is_admitted());
    let error = CheckError::KeyTooLong { bytes: 513 };
    assert_eq!(limiter.check("k".repeat(KEY_BYTES_MAX + 1)), Verdict::Invalid(error));
    assert_eq!(error.to_string(), "`key` has 513 bytes; use at most 512, or a digest of it");
    let giant = vec![0_u8; 100_000_000];
    assert_eq!(limiter.check(&giant), Verdict::Invalid(CheckError::KeyTooLong { bytes: 100_000_000 }));
}

#[test]
fn a_cost_of_nothing_is_refused() {
    let limiter = limiter();
    let (now, free) = (limiter.now(), Cost::micros(0));
    let refused = Verdict::Invalid(CheckError::ZeroCost);
    assert_eq!(limiter.check_n("alice", free), refused);
    assert_eq!(limiter.check_at("alice", free, now), refused);
    assert_eq!(limiter.default_rule().peek_at("alice", free, now), refused);
    let charge = limiter.default_rule().charge_n("alice", free);
    assert_eq!(limiter.check_all(&[charge]), refused);
    let mut verdicts = Vec::new();
    limiter.check_each(&[charge, limiter.default_rule().charge("alice")], &mut verdicts);
    assert_eq!(verdicts[0], refused);
    assert!(verdicts[1].is_admitted());
    assert_eq!(
        CheckError::ZeroCost.to_string(),
        "`cost` is 0, which would admit everything; use `peek` to look without spending"
    );
}

#[test]
fn a_cost_above_the_burst_is_never_admitted() {
    let limiter = limiter();
    let never = Verdict::Never { denied: BucketSet::FIRST };
    for cost in [Cost::tokens(51), Cost::micros(50_000_001), Cost::tokens(u64::MAX), Cost::micros(u64::MAX)] {
        assert_eq!(limiter.check_n("alice", cost), never);
        assert_eq!(limiter.check_at("alice", cost, Moment::from_nanos(u64::MAX)), never);
        assert_eq!(limiter.default_rule().peek_at("alice", cost, Moment::default()), never);
        assert_eq!(limiter.check_all(&[limiter.default_rule().charge_n("alice", cost)]), never);
    }
}

#[test]
fn what_is_wrong_with_a_check_over_several_buckets_is_said() {
    let said = |error: CheckError| error.to_string();
    assert_eq!(said(CheckError::NoCharges), "`charges` is empty; give at least one, or do not check at all");
    assert_eq!(
        said(CheckError::TooManyCharges { charges: 17 }),
        "`charges` has 17 entries; use at most 16 in one check"
    );
    assert_eq!(
        said(CheckError::TierConflict { charge: 2 }),
        "`charges[2]` names a bucket that another charge of this check names under another limit; charge it once"
    );
    assert_eq!(
        said(CheckError::ForeignCharge { charge: 3 }),
        "`charges[3]` was made by a rule of another limiter; make it with a rule of this one"
    );
}

#[test]
fn a_limit_that_cannot_be_kept_is_refused() {
    let refused = |rate, burst| Limit::new(rate, burst).unwrap_err().to_string();
    let ten = Burst::tokens(10);
    assert_eq!(
        refused(Rate::per_second(10), Burst::tokens(0)),
        "`burst` is 0, which denies everything; use 1 token or more"
    );
    assert_eq!(
        refused(Rate::per_second(10), Burst::tokens(u64::MAX)),
        "`burst` is 18446744073709551615 tokens; use at most 1000000000000 (10^12)"
    );
    assert_eq!(
        refused(Rate::per_second(0), ten),
        "`rate` is 0, so a bucket once spent never refills; use at least 1 per year"
    );
    assert_eq!(
        refused(Rate::new(1, Span::ZERO), ten),
        "`rate` has a period of 0; use a period of 1 ns or more"
    );
    assert_eq!(
        refused(Rate::per_second(1_000_000_001), ten),
        "`rate` is 1000000001 tokens per 1s; use at most 1000000000 (10^9) tokens per second"
    );
    assert_eq!(
        refused(Rate::new(1, Span::from_secs(31_536_001)), ten),
        "`rate` is 1 tokens per 31536001s; use at least 1 token per year (365 days)"
    );
    assert_eq!(
        refused(Rate::per_year(1), Burst::tokens(1_000)),
        "`burst` is 1000 tokens, which take more than 146 years to refill at 1 tokens per 31536000s; use a smaller \
         burst or a higher rate"
    );
    assert_eq!(Limit::new(Rate::new(0, Span::ZERO), ten), Err(LimitError::ZeroRate));
}

#[test]
fn a_ratio_too_fine_to_keep_is_refused() {
    let rate = Rate::new(u64::MAX, Span::from_nanos(u64::MAX - 2));
    assert_eq!(
        Limit::new(rate, Burst::tokens(1)).unwrap_err().to_string(),
        "`rate` is 18446744073709551615 tokens per 18446744073.709551613s, a ratio too fine to keep exactly; use a \
         shorter period or rounder numbers"
    );
}

#[test]
fn a_float_that_is_no_amount_is_refused() {
    let rate = |value: f64| Rate::try_from(value).unwrap_err();
    assert_eq!(rate(f64::NAN).fault, FloatFault::NotANumber);
    assert_eq!(rate(f64::NAN).to_string(), "`rate` is not a number (NaN); give a number above 0");
    assert_eq!(rate(f64::INFINITY).to_string(), "`rate` is infinite; give a number, or leave the limit out");
    assert_eq!(rate(0.0).to_string(), "`rate` is 0; give a number above 0");
    assert_eq!(rate(-0.0).to_string(), "`rate` is 0; give a number above 0");
    assert_eq!(rate(-1.5).to_string(), "`rate` is -1.5, which is below 0; give a number above 0");
    assert_eq!(
        rate(f64::NEG_INFINITY).to_string(),
        "`rate` is -inf, which is below 0; give a number above 0"
    );
    assert_eq!(
        rate(1e-16).to_string(),
        "`rate` is 0.0000000000000001, with more than 15 decimal places; round it, or use `Rate::new` with a longer \
         period"
    );
    assert_eq!(
        Burst::try_from(1e-7).unwrap_err().to_string(),
        "`burst` is 0.0000001, finer than one micro-token (0.000001); round it to six decimal places"
    );
    assert_eq!(
        Cost::try_from(1e15).unwrap_err().to_string(),
        "`cost` is 1000000000000000, more than can be counted; use at most 1000000000000"
    );
    assert!(Cost::try_from(f64::MIN_POSITIVE).is_err() && Burst::try_from(f64::MAX).is_err());
}

#[test]
fn the_ends_of_time_are_moments_like_any_other() {
    let limiter = limiter();
    for now in [Moment::from_nanos(u64::MAX), Moment::default(), Moment::from_nanos(u64::MAX)] {
        for _ in 0..60 {
            let _ = limiter.check_at("alice", Cost::ONE, now);
        }
        limiter
            .default_rule()
            .set_limit_at(Limit::new(Rate::per_year(1), Burst::tokens(1)).unwrap(), now)
            .unwrap();
        limiter.default_rule().set_limit_at(limit(), now).unwrap();
    }
    let verdict = limiter.check_at("alice", Cost::ONE, Moment::from_nanos(u64::MAX));
    assert!(!verdict.is_admitted());
}

#[test]
fn a_machine_clock_that_is_set_stays_as_it_is() {
    let clock = Clock::system();
    clock.set(Moment::from_nanos(u64::MAX));
    clock.advance(Span::MAX);
    assert!(clock.now() < Moment::from_nanos(u64::MAX) - Span::from_secs(1_000_000));
}
