//! Limiters over one Redis keep one limit: of rules, of several buckets at once, of limits that come with the call.

use std::time::Duration;

use tollgate::ledger::{SettleFault, TrueCosts};
use tollgate::policy::{Facts, Policy, StoreSettings};
use tollgate::{Burst, CheckError, Cost, Limit, Rate, SettleError, Span, StoreMode, Verdict};
use tollgate_redis::{RedisLedger, SharedLimiter, SharedOptions, SharedRule};

use crate::fleet::{RedisServer, until};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn burst(tokens: u64) -> Limit {
    Limit::new(Rate::per_hour(1), Burst::tokens(tokens)).unwrap()
}

/// One whose checks may take as long as a busy machine does.
fn open(server: &RedisServer) -> SharedLimiter {
    let store = StoreSettings { deadline: Span::from_secs(1), ..StoreSettings::default() };
    SharedLimiter::open_with(&server.url(), SharedOptions { store, ..SharedOptions::default() }).unwrap()
}

/// Two programs with a rule of the same name.
async fn two(server: &RedisServer, name: &str, tokens: u64) -> [(SharedLimiter, SharedRule); 2] {
    let mut programs = [(); 2].map(|()| {
        let limiter = open(server);
        let rule = limiter.rule(name, burst(tokens)).unwrap();
        (limiter, rule)
    });
    for (limiter, _) in &mut programs {
        assert!(limiter.ready(5 * SECOND).await, "the limit is agreed upon");
    }
    programs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_limiters_keep_one_limit_of_a_rule_for_each_key() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let programs = two(&server, "user", 5).await;
    for key in ["ann", "bob"] {
        let mut admitted = 0;
        for _ in 0..6 {
            for (_, rule) in &programs {
                let answer = rule.check(key).await;
                assert_eq!(answer.mode(), StoreMode::Exact, "{answer}");
                admitted += usize::from(answer.is_admitted());
            }
        }
        assert_eq!(admitted, 5, "{key}");
    }
    let [(one, user), (other, again)] = programs;
    let wait = again.check("ann").await.retry_after().unwrap();
    assert!((3_500..=3_600).contains(&wait.as_secs()), "{wait:?}");
    assert!(matches!(user.check_n("ann", Cost::tokens(6)).await.verdict(), Some(Verdict::Never { .. })));
    assert_eq!(user.reset("ann").await.unwrap().balance.whole(), 5);
    assert!(user.peek("ann").await.is_admitted());
    assert!(user.check_n("ann", Cost::tokens(5)).await.is_admitted());
    assert!(!again.check("ann").await.is_admitted());
    one.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_buckets_are_charged_all_or_nothing_whichever_limiter_asks() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let programs = two(&server, "tenant", 3).await;
    let mut users = Vec::new();
    for (limiter, _) in &programs {
        users.push(limiter.rule("user", burst(2)).unwrap());
    }
    for (limiter, _) in &programs {
        assert!(limiter.ready(5 * SECOND).await);
    }
    let mut admitted = 0;
    for user in ["ann", "bob", "cid"] {
        for ((limiter, tenant), rule) in programs.iter().zip(&users) {
            let answer = limiter.check_all(&[rule.charge(user), tenant.charge("acme")]).await;
            admitted += usize::from(answer.is_admitted());
        }
    }
    assert_eq!(admitted, 3, "the tenant has three");
    // Whom the tenant's bucket denied was charged nothing.
    let balance = |answer: tollgate::ledger::Answer| answer.verdict().unwrap().remaining().unwrap().whole();
    assert_eq!(balance(users[0].peek("cid").await), 1, "one of two would be left");
    let charges = [users[1].charge("cid"), users[1].charge("cid")];
    assert!(programs[1].0.check_all(&charges).await.is_admitted());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_limiters_keep_one_limit_that_comes_with_the_call() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let programs = [open(&server), open(&server)];
    let connected = || async {
        let mut is_exact = true;
        for limiter in &programs {
            let peek = limiter.explicit(&burst(4)).unwrap().peek("nobody").await;
            is_exact &= peek.mode() == StoreMode::Exact;
        }
        is_exact
    };
    until("the store decides", 5 * SECOND, connected).await;
    let mut admitted = 0;
    for _ in 0..5 {
        for limiter in &programs {
            let answer = limiter.check_explicit("upload:7", &burst(4), Cost::ONE).await.unwrap();
            admitted += usize::from(answer.is_admitted());
        }
    }
    assert_eq!(admitted, 4);
    let explicit = programs[0].explicit(&burst(4)).unwrap();
    assert_eq!(explicit.give("upload:7", Cost::tokens(2)).await.unwrap().balance.whole(), 2);
    let tenant = programs[0].explicit(&burst(1)).unwrap();
    let both = [explicit.charge("upload:7"), tenant.charge("tenant:1")];
    assert!(programs[0].check_all(&both).await.is_admitted());
    assert!(!programs[0].check_all(&both).await.is_admitted(), "the tenant has one");
    assert!(explicit.check("upload:7").await.is_admitted(), "of two that were given, one was charged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_limiter_reserves_another_settles_and_a_retry_is_charged_once() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let [(one, rule), (other, again)] = two(&server, "tokens", 100).await;
    let minute = Span::from_secs(60);
    let reserved = one.reserve(&[rule.charge_n("ann", Cost::tokens(80))], minute).await.unwrap();
    let (answer, id) = reserved;
    assert!(answer.is_admitted());
    assert!(!again.check_n("ann", Cost::tokens(30)).await.is_admitted());
    let settled = other.settle(id.unwrap(), TrueCosts::Same(Cost::tokens(10))).await.unwrap();
    assert_eq!(settled.returned.whole(), 70);
    let twice = one.settle(id.unwrap(), TrueCosts::Nothing).await;
    assert_eq!(twice, Err(SettleFault::Refused(SettleError::Unknown)));
    let (denied, id) = one.reserve(&[rule.charge_n("ann", Cost::tokens(95))], minute).await.unwrap();
    assert!(!denied.is_admitted() && id.is_none());
    assert!(one.reserve(&[rule.charge("ann")], Span::ZERO).await.is_err());

    for (limiter, rule) in [(&one, &rule), (&other, &again), (&one, &rule)] {
        let charges = [rule.charge_n("bob", Cost::tokens(60))];
        assert!(limiter.check_once("order-7", minute, &charges).await.is_admitted());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_is_declared_anew_is_in_force_everywhere_and_keeps_what_was_spent() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let [(one, _), (_, again)] = two(&server, "user", 5).await;
    assert!(again.check_n("ann", Cost::tokens(4)).await.is_admitted());
    let rule = one.rule("user", burst(2)).unwrap();
    let smaller = || async {
        matches!(again.peek("bob").await.verdict(), Some(Verdict::Admit { remaining, .. }) if remaining.whole() == 1)
    };
    until("the other follows", 5 * SECOND, smaller).await;
    assert!(rule.check("ann").await.is_admitted(), "one was left");
    assert!(!again.check("ann").await.is_admitted());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_of_another_limiter_and_a_check_of_nothing_are_faults_that_say_so() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let [(one, rule), (_, foreign)] = two(&server, "user", 5).await;
    let told = async |charges: &[_]| one.check_all(charges).await.verdict();
    let invalid = |error| Some(Verdict::Invalid(error));
    assert_eq!(told(&[]).await, invalid(CheckError::NoCharges));
    let charges = [rule.charge("a"), foreign.charge("a")];
    assert_eq!(told(&charges).await, invalid(CheckError::ForeignCharge { charge: 1 }));
    assert_eq!(rule.check("").await.verdict(), invalid(CheckError::EmptyKey));
    let many = vec![rule.charge("a"); tollgate::CHARGES_MAX + 1];
    assert!(matches!(told(&many).await, Some(Verdict::Invalid(CheckError::TooManyCharges { .. }))));
    assert!(rule.give("", Cost::ONE).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_is_enforced_over_a_url_by_all_who_do_so() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = || {
        let text = "{store: {deadline: 1s}, rules: [{name: client, scope: ip, rate: 1/h, burst: 5}]}";
        Policy::parse("p.yaml", text).unwrap()
    };
    let kept = RedisLedger::at(&server.url()).unwrap();
    let limiters =
        [tollgate_redis::limiter(&server.url(), policy()).unwrap(), kept.limiter(policy()).unwrap()];
    assert!(kept.agreed(5 * SECOND).await);
    let facts = |client| Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", "/") };
    let exact = || async {
        limiters[0].policy().decide(&facts(9), tollgate::Asking::Peek).await.mode() == StoreMode::Exact
    };
    until("the store decides", 5 * SECOND, exact).await;
    let mut admitted = 0;
    for _ in 0..6 {
        for limiter in &limiters {
            admitted += usize::from(limiter.decide(&facts(1)).await.is_admitted());
        }
    }
    assert_eq!(admitted, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cost_above_the_burst_is_told_apart_also_where_a_denial_is_remembered() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let [(limiter, small), _] = two(&server, "small", 5).await;
    assert!(small.check_n("ann", Cost::tokens(5)).await.is_admitted());
    assert!(matches!(small.check("ann").await.verdict(), Some(Verdict::Deny { .. })));
    let never = small.check_n("ann", Cost::tokens(6)).await;
    assert!(matches!(never.verdict(), Some(Verdict::Never { .. })), "{never}");
    let both = [small.charge("ann"), small.charge_n("bob", Cost::tokens(6))];
    let never = limiter.check_all(&both).await;
    assert!(matches!(never.verdict(), Some(Verdict::Never { denied }) if !denied.contains(0)), "{never}");
    let remembered = limiter.ledger().counts().denials_remembered;
    assert!(matches!(small.check("ann").await.verdict(), Some(Verdict::Deny { .. })));
    assert_eq!(limiter.ledger().counts().denials_remembered, remembered + 1);
}
