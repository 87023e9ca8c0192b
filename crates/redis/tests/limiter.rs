//! Limiters over Redis: instances keep one limit, and go on by themselves while the store does not answer.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;

use std::sync::Arc;
use std::time::Duration;

use fleet::{RedisServer, free_port, until};
use tollgate::ledger::{
    Answer, Bucket, BucketLimit, Gift, Ledger, LedgerCharge, Manner, OwnedKey, Question, SettleFault,
    TrueCosts,
};
use tollgate::policy::{Facts, Policy};
use tollgate::{
    Asking, Burst, Cost, Decision, Limit, Limiter, PolicyLimiter, Rate, Refused, Span, StoreMode,
};
use tollgate_core::BreakerState;
use tollgate_redis::{LedgerOptions, RedisLedger, StoreUrl};

const FIVE: &str = "{store: {deadline: 1s}, rules: [{name: client, scope: ip, rate: 1/h, burst: 5}]}";

/// One instance.
struct Instance {
    limiter: PolicyLimiter,
    ledger: RedisLedger,
}

impl Instance {
    /// One that has agreed with the others on its limits.
    async fn start(url: &str, policy: &str) -> Instance {
        let instance = Instance::begin(url, policy);
        let answered = || async {
            let peek = instance.ask(&facts(0), Asking::Peek).await;
            peek.is_admitted() && peek.mode() == StoreMode::Exact
        };
        until("limits are agreed upon", Duration::from_secs(5), answered).await;
        instance
    }

    fn begin(url: &str, policy: &str) -> Instance {
        let url: StoreUrl = url.parse().unwrap();
        let ledger = RedisLedger::open(&url, &LedgerOptions::default()).unwrap();
        let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone())).unwrap();
        Instance { limiter, ledger }
    }

    async fn ask(&self, facts: &Facts<'_>, asking: Asking<'_>) -> Decision {
        self.limiter.policy().decide(facts, asking).await
    }

    async fn check(&self, client: u8) -> Decision {
        self.ask(&facts(client), Asking::Check).await
    }

    /// How many of so many checks of a client are admitted.
    async fn admitted(&self, client: u8, checks: usize) -> usize {
        let mut admitted = 0;
        for _ in 0..checks {
            admitted += usize::from(self.check(client).await.is_admitted());
        }
        admitted
    }

    /// Until the store decides about this client.
    async fn is_exact(&self, client: u8, within: Duration) {
        let exact = || async { self.ask(&facts(client), Asking::Peek).await.mode() == StoreMode::Exact };
        until("the store decides", within, exact).await;
    }
}

fn facts(client: u8) -> Facts<'static> {
    Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", "/") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_keep_one_limit_and_say_what_the_store_says() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (one, other) =
        (Instance::start(&server.url(), FIVE).await, Instance::start(&server.url(), FIVE).await);
    let mut admitted = 0;
    for _ in 0..10 {
        for instance in [&one, &other] {
            admitted += usize::from(instance.check(1).await.is_admitted());
        }
    }
    assert_eq!(admitted, 5);
    let denied = one.check(1).await;
    let wait = denied.retry_after().unwrap();
    assert!((3_500..=3_600).contains(&wait.as_secs()), "{wait:?}");
    let answered = one.limiter.answer(&denied, |answer| (answer.status(), answer.problem().unwrap()));
    assert!(answered.0 == 429 && answered.1.contains("\"mode\":\"exact\""), "{answered:?}");
    assert_eq!(denied.mode(), StoreMode::Exact);
    assert!(one.ledger.counts().denials_remembered > 0, "a repeat offender costs the store nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_at_once_are_admitted_just_what_there_is() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = "{store: {deadline: 1s}, rules: [{name: all, scope: global, rate: 1/d, burst: 100}, \
                  {name: client, scope: ip, rate: 1/d, burst: 30}]}";
    let instances =
        [Instance::start(&server.url(), policy).await, Instance::start(&server.url(), policy).await];
    let instances: Vec<Arc<Instance>> = instances.into_iter().map(Arc::new).collect();
    let mut asking = tokio::task::JoinSet::new();
    for caller in 0..64_u8 {
        let instance = Arc::clone(&instances[usize::from(caller) % 2]);
        asking.spawn(async move {
            let mut admitted = [0; 8];
            for round in 0..25 {
                let client = (caller + round) % 8;
                let decision = instance.check(client).await;
                assert_eq!(decision.mode(), StoreMode::Exact);
                admitted[usize::from(client)] += usize::from(decision.is_admitted());
            }
            admitted
        });
    }
    let mut of_each = [0; 8];
    while let Some(admitted) = asking.join_next().await {
        of_each.iter_mut().zip(admitted.unwrap()).for_each(|(sum, more)| *sum += more);
    }
    assert_eq!(of_each.iter().sum::<usize>(), 100, "{of_each:?}");
    assert!(of_each.iter().all(|admitted| *admitted <= 30), "{of_each:?}");
    let counts = instances[0].ledger.counts();
    assert!(counts.coalescer.batches < counts.coalescer.operations, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_reservations_and_gifts_work_across_instances() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (one, other) =
        (Instance::start(&server.url(), FIVE).await, Instance::start(&server.url(), FIVE).await);
    let retried = Asking::Once { idempotency_key: "order-7", lifetime: Span::from_secs(60) };
    for instance in [&one, &other, &one] {
        assert!(instance.ask(&facts(1), retried).await.is_admitted());
    }
    assert_eq!(one.admitted(1, 9).await, 4, "the order was charged once");

    let reserve = one.limiter.policy().decide_and_reserve(&facts(2), Span::from_secs(60)).await;
    let (decision, id) = reserve.unwrap();
    assert!(decision.is_admitted());
    let settled = other.limiter.settle_reservation(id.unwrap(), TrueCosts::Nothing).await.unwrap();
    // What was minted meanwhile would have run over.
    assert!((990_000..=1_000_000).contains(&settled.returned.as_micros()), "{settled:?}");
    assert!(other.limiter.settle_reservation(id.unwrap(), TrueCosts::Nothing).await.is_err());
    assert_eq!(one.admitted(2, 9).await, 5);

    let limit = Limit::new(Rate::per_hour(1), Burst::tokens(3)).unwrap();
    let bucket = Bucket { limit: BucketLimit::Explicit(limit), key: OwnedKey::new("tenant:7").unwrap() };
    let ask = |ledger: RedisLedger, cost: u64| {
        let charges = vec![LedgerCharge { bucket: bucket.clone(), cost: Cost::tokens(cost) }];
        async move { ledger.decide(Question { charges, manner: Manner::Check, watched: None }).await }
    };
    assert!(ask(one.ledger.clone(), 3).await.explicit_verdict().unwrap().is_admitted());
    assert!(!ask(other.ledger.clone(), 1).await.explicit_verdict().unwrap().is_admitted());
    let given = other.ledger.give(bucket.clone(), Gift::Tokens(Cost::tokens(2))).await.unwrap();
    assert_eq!((given.given.whole(), given.balance.whole()), (2, 2));
    assert!(ask(other.ledger.clone(), 2).await.explicit_verdict().unwrap().is_admitted(), "at once here");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_away_every_rule_does_what_it_says_and_afterwards_the_store_decides() {
    needs_redis!();
    let policy = "{store: {deadline: 50ms, instances_max: 2}, rules: [
        {name: local, scope: ip, path: /local, rate: 1/h, burst: 10},
        {name: open, scope: ip, path: /open, rate: 1/h, burst: 1, on_store_failure: open},
        {name: closed, scope: ip, path: /closed, rate: 1/h, burst: 9, on_store_failure: closed}]}";
    let mut server = RedisServer::start("").await;
    let instance = Instance::begin(&server.url(), policy);
    let at = |path: &'static str| Facts { address: Some([192, 0, 2, 1].into()), ..Facts::new("GET", path) };
    let exact = || async { instance.ask(&at("/closed"), Asking::Peek).await.is_admitted() };
    until("limits are agreed upon", Duration::from_secs(5), exact).await;

    server.kill();
    let cut_off = || async {
        let _ = instance.ask(&at("/local"), Asking::Peek).await;
        instance.ledger.counts().breaker != BreakerState::Closed
    };
    until("the store is unreachable", Duration::from_secs(5), cut_off).await;
    let mut admitted = [0; 2];
    for _ in 0..40 {
        for (path, admitted) in ["/local", "/open"].into_iter().zip(&mut admitted) {
            let decision = instance.ask(&at(path), Asking::Check).await;
            assert_eq!(decision.mode(), StoreMode::Fallback, "{path}");
            *admitted += usize::from(decision.is_admitted());
        }
        let refused = instance.ask(&at("/closed"), Asking::Check).await.refused();
        assert!(matches!(refused, Some(Refused::LedgerDown { .. })), "{refused:?}");
    }
    assert_eq!(admitted, [5, 40], "half of ten by its share, and all");

    server.launch();
    server.wait().await;
    let back = || async { instance.ask(&at("/closed"), Asking::Check).await.is_admitted() };
    until("the store decides again", Duration::from_secs(5), back).await;
    let back = || async { instance.ask(&at("/local"), Asking::Peek).await.mode() == StoreMode::Exact };
    until("the buckets are back in the store", Duration::from_secs(5), back).await;
    assert_eq!(instance.ledger.counts().local_buckets, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_starts_without_the_store_and_agrees_on_its_limits_when_it_is_there() {
    needs_redis!();
    let port = free_port();
    let instance = Instance::begin(&format!("redis://127.0.0.1:{port}"), FIVE);
    let decision = instance.check(1).await;
    assert!(decision.is_admitted() && decision.mode() == StoreMode::Fallback);
    let server = RedisServer::spawn(port, "");
    server.wait().await;
    instance.is_exact(9, Duration::from_secs(5)).await;
    let answer =
        instance.ledger.decide(Question { charges: Vec::new(), manner: Manner::Check, watched: None }).await;
    assert!(
        matches!(answer, Answer::Decided { verdict, .. } if !verdict.is_admitted()),
        "nothing is asked for"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_reserved_under_a_rule_that_a_deploy_has_removed_is_settled_by_whoever_is_left() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = |rule: &str| {
        format!("{{store: {{deadline: 1s}}, rules: [{{name: {rule}, scope: ip, rate: 1/h, burst: 10}}]}}")
    };
    let before = Instance::start(&server.url(), &policy("before")).await;
    let after = Instance::start(&server.url(), &policy("after")).await;
    let reserved = before.limiter.policy().decide_and_reserve(&facts(1), Span::from_secs(60)).await;
    let id = reserved.unwrap().1.unwrap();
    let settled = after.limiter.settle_reservation(id, TrueCosts::Nothing).await;
    assert!(settled.is_ok(), "the store is there: {settled:?}");
    let returned = settled.unwrap().returned.as_micros();
    assert!(
        (990_000..=1_000_000).contains(&returned),
        "a token, but for what was minted meanwhile: {returned}"
    );
    assert_eq!(before.admitted(1, 11).await, 10, "all is back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reservation_whose_limit_nobody_knows_is_refused_with_the_cause_and_never_to_be_tried_again() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = |rule: &str| {
        format!("{{store: {{deadline: 1s}}, rules: [{{name: {rule}, scope: ip, rate: 1/h, burst: 10}}]}}")
    };
    let before = Instance::start(&server.url(), &policy("before")).await;
    let reserved = before.limiter.policy().decide_and_reserve(&facts(1), Span::from_secs(60)).await;
    let id = reserved.unwrap().1.unwrap();
    drop(before);
    let identity = tollgate_redis::RuleIdentity::new("default", "before");
    let record = tollgate_redis::KeySpace::default().history(&identity);
    let after = Instance::start(&server.url(), &policy("after")).await;
    let deleted: i64 = server.ask_words(&[b"DEL".as_slice(), record.as_bytes()]).await.unwrap();
    assert_eq!(deleted, 1);
    let refused = after.limiter.settle_reservation(id, TrueCosts::Nothing).await;
    assert_eq!(refused, Err(SettleFault::Refused(tollgate::SettleError::LimitUnknown { charge: 0 })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_instance_asks_for_its_upkeep_is_not_counted_with_its_checks() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), FIVE).await;
    let before = instance.ledger.counts();
    let looked =
        || async { instance.ledger.counts().link.upkeep_round_trips > before.link.upkeep_round_trips };
    until("records are looked at", Duration::from_secs(5), looked).await;
    assert_eq!(instance.admitted(1, 4).await, 4);
    let after = instance.ledger.counts();
    assert_eq!(after.coalescer.operations - before.coalescer.operations, 4);
    assert_eq!(after.link.round_trips - before.link.round_trips, 4, "one after another: one for each");
}
