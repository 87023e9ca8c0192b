//! One check over several buckets: all or nothing, who denied, for how long, and what is no such check.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{
    Breadth, BucketSet, Burst, Cause, CheckError, Clock, Cost, Limit, Limiter, Moment, Rate, Rule, Span,
    Tokens, Verdict,
};

const START: Moment = Moment::from_nanos(1_000_000_000_000);

fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

/// A limiter with a rule of each breadth, and its clock.
struct Gate {
    limiter: Limiter,
    clock: Clock,
    user: Rule,
    endpoint: Rule,
    global: Rule,
}

fn gate() -> Gate {
    let clock = Clock::manual(START);
    let limiter = Limiter::builder().clock(clock.clone()).build(per_second(1, 1)).unwrap();
    let user = limiter.rule("user", per_second(10, 5)).unwrap();
    let endpoint = limiter.shared_rule("endpoint", per_second(1, 20), Breadth::Group).unwrap();
    let global = limiter.shared_rule("global", per_second(100, 1_000), Breadth::Everyone).unwrap();
    Gate { limiter, clock, user, endpoint, global }
}

impl Gate {
    fn request(&self, user: &str, path: &str) -> Verdict {
        self.limiter.check_all(&[self.user.charge(user), self.endpoint.charge(path), self.global.charge(())])
    }

    fn balance(&self, rule: &Rule, key: &str) -> u64 {
        rule.peek_at(key, Cost::micros(1), self.clock.now())
            .remaining()
            .map_or(0, |left| left.as_micros().div_ceil(1_000_000))
    }

    fn global_balance(&self) -> u64 {
        self.global.peek(()).remaining().unwrap().whole() + 1
    }
}

fn set(indices: &[usize]) -> BucketSet {
    indices.iter().fold(BucketSet::EMPTY, |set, index| set.union(BucketSet::of(*index)))
}

#[test]
fn an_admitted_check_charges_every_bucket() {
    let gate = gate();
    assert_eq!(
        gate.request("alice", "/search"),
        Verdict::Admit { remaining: Tokens::from_micros(4_000_000), delay: Span::ZERO }
    );
    assert_eq!(gate.balance(&gate.user, "alice"), 4);
    assert_eq!(gate.balance(&gate.endpoint, "/search"), 19);
    assert_eq!(gate.global_balance(), 999);
}

#[test]
fn if_one_denies_none_is_charged() {
    let gate = gate();
    assert_eq!((0..9).filter(|_| gate.request("alice", "/search").is_admitted()).count(), 5);
    assert_eq!(gate.balance(&gate.endpoint, "/search"), 15);
    assert_eq!(gate.global_balance(), 995);
    assert!(!gate.request("alice", "/never seen").is_admitted());
    assert_eq!(gate.balance(&gate.endpoint, "/never seen"), 20);
    assert_eq!(gate.global_balance(), 995);
}

#[test]
fn a_denial_names_all_who_denied_and_the_longest_wait() {
    let gate = gate();
    for client in ["alice", "bob", "carol", "dave"] {
        assert_eq!((0..9).filter(|_| gate.request(client, "/search").is_admitted()).count(), 5);
    }
    // Alice refills in 100 ms, the endpoint in a second.
    assert_eq!(
        gate.request("alice", "/search"),
        Verdict::Deny {
            wait: Span::from_secs(1),
            remaining: Tokens::ZERO,
            denied: set(&[0, 1]),
            cause: Cause::Exceeded,
        }
    );
    gate.clock.advance(Span::from_millis(150));
    assert_eq!(
        gate.request("alice", "/search"),
        Verdict::Deny {
            wait: Span::from_millis(850),
            remaining: Tokens::from_micros(150_000),
            denied: set(&[1]),
            cause: Cause::Exceeded,
        }
    );
    gate.clock.advance(Span::from_nanos(849_999_999));
    assert!(!gate.request("alice", "/search").is_admitted());
    gate.clock.advance(Span::from_nanos(1));
    assert!(gate.request("alice", "/search").is_admitted());
}

#[test]
fn positions_are_those_of_the_charges_whatever_the_order() {
    let gate = gate();
    assert!(gate.user.check_n("alice", Cost::tokens(5)).is_admitted());
    let verdict = gate.limiter.check_all(&[
        gate.global.charge(()),
        gate.user.charge("bob"),
        gate.endpoint.charge("/search"),
        gate.user.charge("alice"),
    ]);
    assert!(matches!(verdict, Verdict::Deny { denied, .. } if denied == set(&[3])), "{verdict:?}");
}

#[test]
fn a_cost_above_one_burst_is_never_and_says_whose() {
    let gate = gate();
    assert!(gate.user.check_n("alice", Cost::tokens(5)).is_admitted());
    let verdict = gate.limiter.check_all(&[
        gate.user.charge("alice"),
        gate.endpoint.charge_n("/search", Cost::tokens(21)),
        gate.global.charge(()),
    ]);
    assert_eq!(verdict, Verdict::Never { denied: set(&[1]) });
    assert_eq!(gate.global_balance(), 1_000);
}

#[test]
fn one_bucket_named_twice_pays_for_both() {
    let gate = gate();
    let alice = |tokens| gate.user.charge_n("alice", Cost::tokens(tokens));
    let both = |a, b| gate.limiter.check_all(&[alice(a), gate.user.charge("bob"), alice(b)]);
    assert_eq!(both(3, 3), Verdict::Never { denied: set(&[0, 2]) });
    assert_eq!(both(2, 2), Verdict::Admit { remaining: Tokens::from_micros(1_000_000), delay: Span::ZERO });
    assert_eq!(
        both(1, 1),
        Verdict::Deny {
            wait: Span::from_millis(100),
            remaining: Tokens::from_micros(1_000_000),
            denied: set(&[0, 2]),
            cause: Cause::Exceeded,
        }
    );
    assert_eq!(gate.balance(&gate.user, "bob"), 4);
    // A sum beyond counting is above every burst, too.
    let most = gate.user.charge_n("alice", Cost::micros(u64::MAX));
    assert_eq!(gate.limiter.check_all(&[most, most]), Verdict::Never { denied: set(&[0, 1]) });
}

#[test]
fn one_bucket_under_two_limits_is_refused() {
    let gate = gate();
    let pro = gate.user.tier("pro", per_second(100, 50)).unwrap();
    let charges = [gate.global.charge(()), gate.user.charge("alice"), pro.charge("alice")];
    assert_eq!(gate.limiter.check_all(&charges), Verdict::Invalid(CheckError::TierConflict { charge: 2 }));
    assert_eq!(gate.global_balance(), 1_000);
    // Two clients on two tiers are two buckets.
    assert!(gate.limiter.check_all(&[gate.user.charge("alice"), pro.charge("bob")]).is_admitted());
}

#[test]
fn a_charge_of_another_limiter_is_refused() {
    let (gate, other) = (gate(), gate());
    let charges = [gate.user.charge("alice"), other.user.charge("alice")];
    let foreign = |charge| Verdict::Invalid(CheckError::ForeignCharge { charge });
    assert_eq!(gate.limiter.check_all(&charges), foreign(1));
    assert_eq!(other.limiter.check_all(&charges), foreign(0));
    assert_eq!(gate.balance(&gate.user, "alice"), 5);

    let mut verdicts = Vec::new();
    let many: Vec<_> = [&charges[..]; 20].concat();
    gate.limiter.check_each(&many, &mut verdicts);
    assert!(verdicts[0].is_admitted());
    for charge in (1..40).step_by(2) {
        assert_eq!(verdicts[charge], foreign(charge));
    }
    // A clone is the same limiter.
    assert!(gate.limiter.clone().check_all(&[gate.endpoint.charge("/search")]).is_admitted());
}

#[test]
fn an_unsound_charge_refuses_the_whole_check() {
    let gate = gate();
    let charges = [gate.global.charge(()), gate.user.charge("")];
    assert_eq!(gate.limiter.check_all(&charges), Verdict::Invalid(CheckError::EmptyKey));
    assert_eq!(gate.limiter.check_all(&[]), Verdict::Invalid(CheckError::NoCharges));
    let many: Vec<_> = (0..17_u32).map(|client| gate.user.charge(client)).collect();
    assert_eq!(gate.limiter.check_all(&many), Verdict::Invalid(CheckError::TooManyCharges { charges: 17 }));
    assert!(gate.limiter.check_all(&many[..16]).is_admitted());
    assert_eq!(gate.global_balance(), 1_000);
}

#[test]
fn a_client_that_changed_tier_is_charged_under_the_new_one() {
    let gate = gate();
    let pro = gate.user.tier("pro", per_second(100, 50)).unwrap();
    assert!(gate.user.check_n("alice", Cost::tokens(3)).is_admitted());
    let request = || gate.limiter.check_all(&[pro.charge("alice"), gate.global.charge(())]);
    assert_eq!(request(), Verdict::Admit { remaining: Tokens::from_micros(1_000_000), delay: Span::ZERO });
    gate.clock.advance(Span::from_secs(1));
    assert_eq!(request(), Verdict::Admit { remaining: Tokens::from_micros(49_000_000), delay: Span::ZERO });
}

#[test]
fn a_moment_of_the_callers_choosing_decides_all_buckets() {
    let gate = gate();
    let charges = [gate.user.charge_n("alice", Cost::tokens(5)), gate.endpoint.charge("/search")];
    assert!(gate.limiter.check_all_at(&charges, START).is_admitted());
    let verdict = gate.limiter.check_all_at(&charges, START + Span::from_millis(200));
    assert_eq!(verdict.retry_after(), Some(Span::from_millis(300).into()));
    assert!(gate.limiter.check_all_at(&charges, START + Span::from_millis(500)).is_admitted());
}

#[test]
fn a_peek_at_several_tells_what_a_check_would_and_charges_nothing() {
    let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(per_second(1, 3)).unwrap();
    let wide = limiter.shared_rule("wide", per_second(1, 5), Breadth::Everyone).unwrap();
    for _ in 0..8 {
        let charges = [limiter.default_rule().charge("ann"), wide.charge(()), wide.charge(())];
        let (peeked, again) = (limiter.peek_all(&charges), limiter.peek_all(&charges));
        assert_eq!(peeked, again);
        assert_eq!(peeked, limiter.check_all(&charges));
    }
    assert!(
        !limiter.peek_all(&[wide.charge(()), wide.charge(())]).is_admitted(),
        "one token is left, not two"
    );
    assert_eq!(limiter.peek_all(&[]), limiter.check_all(&[]));
}
