//! Leased buckets on a real server: instances spend slices by themselves, and together keep one limit.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;
#[path = "leased/under_load.rs"]
mod under_load;

use std::sync::Arc;
use std::time::Duration;

use fleet::{RedisServer, until};
use tollgate::ledger::{Bucket, BucketLimit, Gift, Ledger, OwnedKey, RuleNumber};
use tollgate::policy::{Facts, Policy, RuleBook};
use tollgate::{Asking, Clock, Decision, Limiter, PolicyLimiter, Refused, Span, StoreMode, Verdict};
use tollgate_redis::{LedgerOptions, RedisLedger, StoreUrl};

/// 1,000 per second, burst 1,000, for all; two instances.
const LEASED: &str = "{store: {deadline: 1s, instances_max: 2}, rules: [\
                      {name: all, scope: global, rate: 1000/s, burst: 1000, consistency: leased}]}";
const EXACT: &str = "{store: {deadline: 1s, instances_max: 2}, rules: [\
                     {name: all, scope: global, rate: 1000/s, burst: 1000}]}";

/// One instance.
struct Instance {
    limiter: PolicyLimiter,
    ledger: RedisLedger,
}

impl Instance {
    /// One that has agreed with the others on its limits.
    async fn start(url: &str, policy: &str) -> Instance {
        let url: StoreUrl = url.parse().unwrap();
        let ledger = RedisLedger::open(&url, &LedgerOptions::default()).unwrap();
        let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone())).unwrap();
        let instance = Instance { limiter, ledger };
        let is_exact = || async {
            let peek = instance.ask(0, Asking::Peek).await;
            peek.refused().is_none() && peek.mode() == StoreMode::Exact
        };
        until("limits are agreed upon", Duration::from_secs(5), is_exact).await;
        instance
    }

    async fn ask(&self, client: u8, asking: Asking<'_>) -> Decision {
        let facts = Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", "/") };
        self.limiter.policy().decide(&facts, asking).await
    }

    async fn check(&self, client: u8) -> Decision {
        self.ask(client, Asking::Check).await
    }

    /// What the store says is left in the bucket of all.
    async fn left(&self) -> u64 {
        let peek = self.ask(0, Asking::Peek).await;
        assert_eq!((peek.mode(), peek.rules().count()), (StoreMode::Exact, 1));
        match peek.verdict() {
            Some(Verdict::Admit { remaining, .. }) => remaining.whole() + 1,
            other => panic!("{other:?}"),
        }
    }
}

/// The one bucket of the policy's first rule.
fn bucket_of_all(policy: &str) -> Bucket {
    let book = RuleBook::new(Policy::parse("p.yaml", policy).unwrap());
    let mut key = None;
    book.rule_on(&Facts::new("GET", "/"), 0, |hit| key = OwnedKey::new(hit.key).ok());
    Bucket { limit: BucketLimit::Rule(RuleNumber(0)), key: key.unwrap() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hot_bucket_is_decided_by_slices_with_few_round_trips_and_the_verdict_says_so() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), LEASED).await;
    let before = instance.ledger.counts();
    for _ in 0..600 {
        let decision = instance.check(1).await;
        assert!(decision.is_admitted() && decision.mode() == StoreMode::Leased);
    }
    let counts = instance.ledger.counts();
    assert!(counts.lease_hits > 500, "{counts:?}");
    let round_trips = counts.coalescer.operations - before.coalescer.operations;
    assert!((1..=60).contains(&round_trips), "{round_trips} round trips for 600 checks");
    assert_eq!((counts.fallbacks, counts.leased_buckets), (before.fallbacks, 1));
    assert!(counts.lease_asks >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_slice_can_pay_for_is_decided_without_a_runtime_and_given_back_it_is_not() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let instance = Arc::new(Instance::start(&server.url(), LEASED).await);
    let in_a_thread = |instance: &Arc<Instance>| {
        let instance = Arc::clone(instance);
        let first_look = move || {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let mut deciding = instance.limiter.decide(&Facts::new("GET", "/"));
            match std::pin::Pin::new(&mut deciding).poll(&mut context) {
                std::task::Poll::Ready(decision) => Some((decision.is_admitted(), decision.mode())),
                std::task::Poll::Pending => None,
            }
        };
        std::thread::spawn(first_look).join().unwrap()
    };
    let is_paid = || async {
        // The demand is known by these: slices grow.
        for _ in 0..50 {
            assert!(instance.check(1).await.is_admitted());
        }
        let hits = instance.ledger.counts().lease_hits;
        in_a_thread(&instance) == Some((true, StoreMode::Leased))
            && instance.ledger.counts().lease_hits == hits + 1
    };
    until("a slice pays", Duration::from_secs(5), is_paid).await;
    instance.ledger.close().await;
    let hits = instance.ledger.counts().lease_hits;
    let decision = instance.check(1).await;
    assert_eq!((decision.mode(), instance.ledger.counts().lease_hits), (StoreMode::Exact, hits));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_check_over_leased_and_exact_buckets_spends_no_slice() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = "{store: {deadline: 1s, instances_max: 2}, rules: [\
                  {name: all, scope: global, rate: 1000/s, burst: 1000, consistency: leased}, \
                  {name: client, scope: ip, rate: 1/d, burst: 5}]}";
    let (instance, exact) =
        (Instance::start(&server.url(), policy).await, Instance::start(&server.url(), EXACT).await);
    let mut admitted = 0;
    let clock = Clock::system();
    let until = clock.now() + Span::from_millis(300);
    while clock.now() < until || admitted == 0 {
        for _ in 0..100 {
            let decision = instance.check(1).await;
            assert_ne!(decision.mode(), StoreMode::Fallback);
            admitted += usize::from(decision.is_admitted());
        }
    }
    assert_eq!(admitted, 5);
    let denied = instance.check(1).await;
    let problem = instance.limiter.answer(&denied, |answer| answer.problem().unwrap());
    assert!(problem.contains("client") && problem.contains("\"mode\":\"exact\""), "{problem}");
    let other = instance.check(2).await;
    assert!(other.is_admitted() && other.mode() == StoreMode::Leased, "{:?}", other.mode());
    instance.ledger.close().await;
    assert!(exact.left().await >= 990, "six were spent, all in all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slices_are_given_back_when_nobody_needs_them_and_when_the_program_stops() {
    needs_redis!();
    let server = RedisServer::start("").await;
    // Slow to refill, so that what is missing is seen.
    let [leased, exact] = ["leased", "exact"].map(|consistency| {
        format!(
            "{{store: {{deadline: 1s, instances_max: 1}}, rules: [\
             {{name: all, scope: global, rate: 250/s, burst: 100000, consistency: {consistency}}}]}}"
        )
    });
    let (one, other) =
        (Instance::start(&server.url(), &leased).await, Instance::start(&server.url(), &exact).await);
    let clock = Clock::system();
    let begun = clock.now();
    for _ in 0..20_000 {
        assert!(one.check(1).await.is_admitted());
    }
    one.ledger.close().await;
    let minted = 250 * clock.now().since(begun).as_nanos() / 1_000_000_000 + 1;
    let left = other.left().await;
    assert!((80_000..=80_000 + minted).contains(&left), "{left} left, {minted} minted");
    assert!(one.ledger.counts().lease_returned_micros > 0);
    let after = one.check(1).await;
    assert!(after.is_admitted() && after.mode() == StoreMode::Exact, "it answers still");

    let idle = Instance::start(&server.url(), &leased).await;
    for _ in 0..2_000 {
        assert!(idle.check(1).await.is_admitted());
    }
    let is_back = || async { idle.ledger.counts().lease_returned_micros > 0 };
    until("an idle instance gives its slice back", Duration::from_secs(2), is_back).await;
    assert_eq!(idle.ledger.counts().lease_stranded_micros, 0);
    until("and forgets the bucket", Duration::from_secs(3), || async {
        idle.ledger.counts().leased_buckets == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slice_of_an_instance_that_crashed_comes_back_by_itself() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let exact = Instance::start(&server.url(), EXACT).await;
    let leased = Instance::start(&server.url(), LEASED).await;
    for _ in 0..100 {
        assert!(leased.check(1).await.is_admitted());
    }
    drop(leased);
    // The bucket would be full within 100 ms but for the slice.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let left = exact.left().await;
    assert!(left < 1_000, "{left}: the slice counts against the burst");
    until("it is full", Duration::from_secs(3), || async { exact.left().await == 1_000 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_store_dies_slices_are_spent_to_their_end_and_then_rules_do_what_they_say() {
    needs_redis!();
    let policy = "{store: {deadline: 50ms, instances_max: 2, lease: 4s}, rules: [\
                  {name: all, scope: global, rate: 1000/s, burst: 1000, consistency: leased, on_store_failure: closed}]}";
    let mut server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), policy).await;
    for _ in 0..200 {
        assert!(instance.check(1).await.is_admitted());
    }
    server.kill();
    let (mut by_slice, mut refused) = (0, 0);
    for _ in 0..1_000 {
        let decision = instance.check(1).await;
        match decision.refused() {
            None if decision.is_admitted() => {
                assert_eq!((decision.mode(), refused), (StoreMode::Leased, 0), "slices first");
                by_slice += 1;
            }
            None => assert_eq!(decision.mode(), StoreMode::Leased),
            Some(Refused::LedgerDown { .. }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(by_slice > 0 && by_slice <= 500 && refused > 400, "{by_slice} by the slice, {refused} refused");
    server.launch();
    server.wait().await;
    let is_back = || async { instance.check(1).await.mode() == StoreMode::Leased };
    until("slices are granted again", Duration::from_secs(5), is_back).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_share_of_an_instance_begins_with_what_was_last_left_of_a_leased_bucket() {
    needs_redis!();
    let policy = "{store: {deadline: 50ms, instances_max: 2}, rules: [\
                  {name: all, scope: global, rate: 1000/s, burst: 1000, consistency: leased}]}";
    let mut server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), policy).await;
    let clock = Clock::system();
    let drained = clock.now() + Span::from_millis(400);
    while instance.check(1).await.is_admitted() || clock.now() < drained {}
    let begun = clock.now();
    server.kill();
    let (mut admitted, mut by_share) = (0, 0);
    while clock.now() < begun + Span::from_millis(400) || by_share == 0 {
        let decision = instance.check(1).await;
        by_share += u64::from(decision.mode() == StoreMode::Fallback);
        admitted += u64::from(decision.is_admitted() && decision.mode() == StoreMode::Fallback);
    }
    let minted = clock.now().since(begun).as_nanos() / 2_000_000;
    assert!(
        admitted <= minted + 50,
        "{admitted} admitted, {minted} minted by the share, which would be 500 if it began full"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gift_reaches_a_leased_bucket_as_soon_as_what_was_granted_ahead_is_minted() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), LEASED).await;
    while instance.check(1).await.is_admitted() {}
    let given = instance.ledger.give(bucket_of_all(LEASED), Gift::Reset).await.unwrap();
    assert!(given.balance.whole() >= 700, "{given:?}: all but what is out");
    // At most a quarter of a life.
    until("admitted", Duration::from_millis(150), || async { instance.check(1).await.is_admitted() }).await;
}
