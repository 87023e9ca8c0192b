//! Every algorithm behind the same doors: each keeps its own promise, alone and together with others (A10).
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{
    Algorithm, Breadth, Burst, CheckError, Clock, Concurrency, Cost, FixedWindow, LeakyBucket, Limit,
    Limiter, Moment, Rate, Rule, RuleError, SlidingCounter, SlidingLog, Span, Tokens, Verdict, Window,
};

const MINUTE: Span = Span::from_secs(60);

struct World {
    limiter: Limiter,
    clock: Clock,
}

fn world() -> World {
    let clock = Clock::manual(Moment::from_nanos(0));
    let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
    World { limiter: Limiter::builder().keys_max(1_000).clock(clock.clone()).build(limit).unwrap(), clock }
}

impl World {
    fn rule(&self, limit: impl Into<Algorithm>) -> Rule {
        let limit = limit.into();
        self.limiter.rule(limit.name(), limit).unwrap()
    }

    /// How many of `checks` are admitted now.
    fn admitted(&self, rule: &Rule, checks: usize) -> usize {
        let _ = self;
        (0..checks).filter(|_| rule.check("ann").is_admitted()).count()
    }
}

fn leaky() -> LeakyBucket {
    LeakyBucket::new(Rate::per_second(10), Burst::tokens(5)).unwrap()
}

fn fixed() -> FixedWindow {
    FixedWindow::new(Burst::tokens(100), Window::MINUTE).unwrap()
}

fn counter() -> SlidingCounter {
    SlidingCounter::new(Burst::tokens(100), MINUTE).unwrap()
}

fn log() -> SlidingLog {
    SlidingLog::new(Burst::tokens(100), MINUTE).unwrap()
}

fn places() -> Concurrency {
    Concurrency::new(2, MINUTE).unwrap()
}

#[test]
fn a_leaky_bucket_says_when_each_may_leave() {
    let world = world();
    let rule = world.rule(leaky());
    let delays: Vec<_> = (0..6).map(|_| rule.check("ann").delay()).collect();
    let millis = |millis| Some(std::time::Duration::from_millis(millis));
    assert_eq!(delays, [millis(0), millis(100), millis(200), millis(300), millis(400), None]);
    world.clock.advance(Span::from_millis(250));
    assert_eq!(rule.check("ann").delay(), millis(250));
    assert_eq!(rule.check("ann").delay(), millis(350));
    assert_eq!(rule.check("bob").delay(), millis(0));
}

#[test]
fn a_leaky_bucket_with_a_longest_wait_turns_others_away() {
    let world = world();
    let rule = world.rule(leaky().max_wait(Span::from_millis(150)));
    assert_eq!(world.admitted(&rule, 10), 2);
    let Verdict::Deny { wait, .. } = rule.check("ann") else { panic!() };
    assert_eq!(wait, Span::from_millis(50));
    world.clock.advance(wait);
    assert_eq!(rule.check("ann").delay(), Some(std::time::Duration::from_millis(150)));
}

/// The defect that every other algorithm here is chosen to avoid.
#[test]
fn a_fixed_window_admits_twice_its_quota_around_its_end_and_no_other_does() {
    let around_the_end = |limit: Algorithm| {
        let world = world();
        let rule = world.rule(limit);
        world.clock.advance(Span::from_secs(59));
        let before = world.admitted(&rule, 100);
        world.clock.advance(Span::from_secs(1));
        before + world.admitted(&rule, 100)
    };
    assert_eq!(around_the_end(fixed().into()), 200);
    assert_eq!(around_the_end(log().into()), 100);
    assert!(around_the_end(counter().into()) <= 102);
    let bucket = Limit::new(Rate::per_minute(100), Burst::tokens(100)).unwrap();
    assert_eq!(around_the_end(bucket.into()), 101);
}

#[test]
fn a_fixed_window_waits_for_the_calendar() {
    let world = world();
    let rule = world.rule(FixedWindow::new(Burst::tokens(1), Window::DAY).unwrap());
    world.clock.advance(Span::from_secs(3_600));
    assert!(rule.check("ann").is_admitted());
    let Verdict::Deny { wait, .. } = rule.check("ann") else { panic!() };
    assert_eq!(wait, Span::from_secs(23 * 3_600));
}

#[test]
fn a_sliding_log_forgets_each_charge_after_its_window() {
    let world = world();
    let rule = world.rule(log());
    assert!(rule.check_n("ann", Cost::tokens(60)).is_admitted());
    world.clock.advance(Span::from_secs(20));
    assert!(rule.check_n("ann", Cost::tokens(40)).is_admitted());
    let Verdict::Deny { wait, remaining, .. } = rule.check_n("ann", Cost::tokens(61)) else { panic!() };
    assert_eq!((wait, remaining), (Span::from_secs(60), Tokens::ZERO));
    let Verdict::Deny { wait, .. } = rule.check("ann") else { panic!() };
    assert_eq!(wait, Span::from_secs(40));
    world.clock.advance(wait - Span::from_nanos(1));
    assert!(!rule.check("ann").is_admitted());
    world.clock.advance(Span::from_nanos(1));
    assert_eq!(world.admitted(&rule, 100), 60);
}

#[test]
fn a_sliding_counter_fades_out_what_the_window_before_admitted() {
    let world = world();
    let rule = world.rule(counter());
    assert_eq!(world.admitted(&rule, 200), 100);
    world.clock.advance(Span::from_secs(75));
    // A quarter into the next window three quarters of the hundred still count.
    assert_eq!(world.admitted(&rule, 200), 25);
}

#[test]
fn places_are_held_by_guards_and_refused_without() {
    let world = world();
    let rule = world.rule(places());
    assert_eq!(rule.check("ann"), Verdict::Invalid(CheckError::NeedsGuard { charge: 0 }));
    let charges = [world.limiter.default_rule().charge(1), rule.charge("ann")];
    assert_eq!(world.limiter.check_all(&charges), Verdict::Invalid(CheckError::NeedsGuard { charge: 1 }));
    let (one, two) = (rule.enter("ann").unwrap(), rule.enter("ann").unwrap());
    assert!(rule.enter("bob").is_ok());
    let Verdict::Deny { wait, .. } = rule.enter("ann").unwrap_err() else { panic!() };
    assert!(wait > MINUTE && wait <= Span::from_secs(90), "{wait}");
    drop(one);
    assert_eq!(rule.balance("ann"), Ok(Tokens::from_micros(1_000_000)));
    assert_eq!(two.leave(), tollgate::Left::InTime);
    assert_eq!(rule.balance("ann"), Ok(Tokens::from_micros(2_000_000)));
}

#[test]
fn a_lost_place_is_free_after_its_timeout_and_its_holder_too_late() {
    let world = world();
    let rule = world.rule(places());
    let held = [rule.enter("ann").unwrap(), rule.enter("ann").unwrap()];
    world.clock.advance(MINUTE);
    assert!(rule.enter("ann").is_err());
    world.clock.advance(Span::from_secs(30));
    let others = [rule.enter("ann").unwrap(), rule.enter("ann").unwrap()];
    for guard in held {
        assert_eq!(guard.leave(), tollgate::Left::TooLate);
    }
    assert!(rule.enter("ann").is_err(), "the others are still at work");
    drop(others);
    assert!(rule.enter("ann").is_ok());
}

#[test]
fn one_denial_among_all_algorithms_charges_none() {
    let world = world();
    let limiter = &world.limiter;
    let rules: Vec<Rule> = [leaky().into(), fixed().into(), counter().into(), log().into(), places().into()]
        .map(|limit: Algorithm| world.rule(limit))
        .into();
    let service = limiter
        .shared_rule("service", Limit::new(Rate::per_hour(1), Burst::tokens(2)).unwrap(), Breadth::Everyone)
        .unwrap();
    let charges = || {
        let mut charges: Vec<_> = rules.iter().map(|rule| rule.charge("ann")).collect();
        charges.push(service.charge(()));
        charges
    };
    let holdings = || rules.iter().map(|rule| rule.balance("ann").unwrap().whole()).collect::<Vec<_>>();
    let guards: Vec<_> = (0..2).map(|_| limiter.enter_all(&charges()).unwrap()).collect();
    assert_eq!(guards[1].verdict().delay(), Some(std::time::Duration::from_millis(100)), "the leaky one's");
    assert_eq!(holdings(), [3, 98, 98, 98, 0]);
    let Verdict::Deny { denied, .. } = limiter.enter_all(&charges()).unwrap_err() else { panic!() };
    assert_eq!(denied.iter().collect::<Vec<_>>(), [4, 5], "no place, and the service is empty");
    drop(guards);
    let Verdict::Deny { denied, .. } = limiter.enter_all(&charges()).unwrap_err() else { panic!() };
    assert_eq!(denied.iter().collect::<Vec<_>>(), [5]);
    assert_eq!(holdings(), [3, 98, 98, 98, 2]);
}

#[test]
fn a_cost_above_the_quota_is_never_under_every_algorithm() {
    let world = world();
    let limits: [Algorithm; 4] = [leaky().into(), fixed().into(), counter().into(), log().into()];
    for limit in limits {
        let rule = world.rule(limit);
        let verdict = rule.check_n("ann", Cost::tokens(101));
        assert!(matches!(verdict, Verdict::Never { .. }), "{}: {verdict}", limit.name());
        assert!(matches!(rule.peek_n("ann", Cost::tokens(101)), Verdict::Never { .. }));
    }
}

#[test]
fn a_rule_does_not_change_its_algorithm() {
    let world = world();
    let rule = world.rule(counter());
    let error = rule.set_limit(log()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`limit` is a sliding_window log, but the rule is a sliding_window counter, and its buckets mean nothing there; \
         declare it under another name"
    );
    assert!(matches!(rule.tier("pro", log()), Err(RuleError::AlgorithmConflict { .. })));
    let longer = SlidingCounter::new(Burst::tokens(100), Span::from_secs(61)).unwrap();
    let error = rule.set_limit(longer).unwrap_err().to_string();
    assert!(error.starts_with("`limit` has another window or timeout than the rule's"), "{error}");
    let raised = SlidingCounter::new(Burst::tokens(200), MINUTE).unwrap();
    assert_eq!(world.admitted(&rule, 300), 100);
    rule.set_limit(raised).unwrap();
    assert_eq!(world.admitted(&rule, 300), 100);
    assert_eq!(rule.limit().full(), Tokens::from_micros(200_000_000));
}

#[test]
fn clients_keep_what_they_have_used_when_they_change_tier_under_every_algorithm() {
    let tiers: [(Algorithm, Algorithm); 3] = [
        (fixed().into(), FixedWindow::new(Burst::tokens(150), Window::MINUTE).unwrap().into()),
        (counter().into(), SlidingCounter::new(Burst::tokens(150), MINUTE).unwrap().into()),
        (log().into(), SlidingLog::new(Burst::tokens(150), MINUTE).unwrap().into()),
    ];
    for (free, pro) in tiers {
        let world = world();
        let free = world.rule(free);
        let pro = free.tier("pro", pro).unwrap();
        assert!(free.check_n("ann", Cost::tokens(90)).is_admitted());
        let admitted = world.admitted(&pro, 200);
        // A window keeps the balance; what slides keeps what was used.
        assert!(matches!(admitted, 10 | 60), "{}: {admitted}", pro.limit().name());
        assert_eq!(world.admitted(&free, 1), 0);
    }
}

#[test]
fn all_logs_together_remember_no_more_than_they_may() {
    let clock = Clock::manual(Moment::from_nanos(0));
    let limiter = Limiter::builder().log_entries_max(50).clock(clock.clone()).build(log()).unwrap();
    let mut admitted = 0;
    for client in 0..200_u64 {
        clock.advance(Span::from_nanos(1));
        admitted += u64::from(limiter.check(client).is_admitted());
    }
    assert_eq!((admitted, limiter.stats().log_entries), (50, 50));
    let Verdict::Deny { cause, .. } = limiter.check(1_000_u64) else { panic!() };
    assert_eq!(cause, tollgate::Cause::TableFull(tollgate::BucketSet::FIRST));
    clock.advance(MINUTE);
    assert!(limiter.check(1_000_u64).is_admitted());
}

#[test]
fn a_burst_credit_is_what_the_rate_mints_in_its_time() {
    let limit = Limit::with_credit(Rate::per_second(3), Span::from_secs(300)).unwrap();
    assert_eq!(limit.burst(), Tokens::from_micros(900_000_000));
    assert_eq!(Limit::with_credit(Rate::per_second(3), Span::ZERO), Err(tollgate::LimitError::ZeroBurst));
}
