//! Limiters over a shared ledger: several of them keep one limit, and what the ledger says is told. The ledger here is a limiter in this
//! process: what a store by the network makes of it is for the tests of that store.
#![cfg(feature = "policy")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::collections::HashMap;
use std::future::{Future, ready};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tollgate::ledger::{
    Answer, Bucket, BucketLimit, BucketLook, BucketState, Gift, Ledger, LedgerDown, LedgerFuture,
    LedgerRefusal, LedgerRule, Manner, Question, RuleCharge, RuleNumber, SettleFault, TrueCosts, Watched,
};
use tollgate::policy::{Facts, Policy, StoreSettings};
use tollgate::{
    Asking, Burst, Charge, Clock, Cost, Decision, Given, Limit, Limiter, Moment, PolicyLimiter, Rate,
    Refused, ReservationId, Rule, SettleError, Settled, Span, StoreMode, Verdict,
};

/// A ledger in this process.
#[derive(Debug)]
struct InProcess {
    limiter: Limiter,
    rules: Mutex<Vec<(String, Rule)>>,
    reserved: Mutex<HashMap<ReservationId, tollgate::Reservation>>,
    settled_later: Mutex<Vec<TrueCosts>>,
    is_down: Mutex<bool>,
    settings: Mutex<StoreSettings>,
    /// How many checks it admits without being waited for.
    at_once: Mutex<u32>,
}

impl InProcess {
    fn new() -> Arc<InProcess> {
        let limit = Limit::new(Rate::per_second(1), Burst::tokens(1)).unwrap();
        let clock = Clock::manual(Moment::from_nanos(1_000_000_000));
        Arc::new(InProcess {
            limiter: Limiter::builder().clock(clock).build(limit).unwrap(),
            rules: Mutex::default(),
            reserved: Mutex::default(),
            settled_later: Mutex::default(),
            is_down: Mutex::default(),
            settings: Mutex::default(),
            at_once: Mutex::default(),
        })
    }

    fn charge(&self, bucket: &Bucket, cost: Cost) -> Charge {
        let BucketLimit::Rule(RuleNumber(number)) = bucket.limit else { panic!("no explicit buckets here") };
        self.rules.lock().unwrap()[number as usize].1.charge_n(&bucket.key, cost)
    }

    fn answer(&self, question: Question) -> Answer {
        if *self.is_down.lock().unwrap() {
            return Answer::Unavailable { wait: Span::from_secs(3) };
        }
        let charges: Vec<Charge> =
            question.charges.iter().map(|charge| self.charge(&charge.bucket, charge.cost)).collect();
        let verdict = match question.manner {
            Manner::Check => self.limiter.check_all(&charges),
            Manner::Peek => self.limiter.peek_all(&charges),
            Manner::Once { idempotency_key, lifetime } => {
                self.limiter.check_once(&idempotency_key, lifetime, &charges)
            }
            Manner::Reserve { id, timeout } => match self.limiter.reserve(&charges, timeout) {
                Ok(made) => {
                    let verdict = made.verdict().unwrap();
                    self.reserved.lock().unwrap().insert(id, made);
                    verdict
                }
                Err(tollgate::ReserveError::Denied(verdict)) => verdict,
                Err(error) => panic!("{error}"),
            },
        };
        if let Some(watched) = question.watched.filter(|_| verdict.is_admitted()) {
            self.watch(watched);
        }
        let costs = question.charges.iter().map(|charge| charge.cost.as_micros());
        let buckets =
            charges.iter().zip(costs).map(|(charge, cost)| match self.limiter.peek_all(&[*charge]) {
                Verdict::Admit { remaining, .. } => state(remaining.as_micros() + cost, Span::ZERO),
                Verdict::Deny { wait, remaining, .. } => state(remaining.as_micros(), wait),
                other => panic!("{other}"),
            });
        Answer::Decided { verdict, buckets: buckets.collect(), mode: StoreMode::Leased }
    }
}

fn state(micros: u64, wait: Span) -> BucketState {
    let remaining = tollgate::Tokens::from_micros(micros);
    BucketState { remaining, wait, time_to_full: Span::from_secs(42), instances: 1 }
}

impl Ledger for InProcess {
    fn declare(
        &self,
        settings: &StoreSettings,
        declared: &[LedgerRule<'_>],
    ) -> Result<Vec<RuleNumber>, LedgerRefusal> {
        *self.settings.lock().unwrap() = settings.clone();
        let mut rules = self.rules.lock().unwrap();
        let numbers = declared.iter().enumerate().map(|(at, rule)| {
            if rule.name == "refused" {
                return Err(LedgerRefusal { rule: at, problem: "`burst` is 7; use 8".to_owned() });
            }
            let name = format!("{} {} {}", rule.policy, rule.name, rule.is_shadow);
            let made = self.limiter.shared_rule(&name, rule.algorithm, rule.breadth).unwrap();
            let known = rules.iter().position(|(known, _)| *known == name);
            let number = known.unwrap_or_else(|| {
                rules.push((name, made));
                rules.len() - 1
            });
            Ok(RuleNumber(u32::try_from(number).unwrap()))
        });
        numbers.collect()
    }

    fn decide(&self, question: Question) -> LedgerFuture<'_, Answer> {
        Box::pin(ready(self.answer(question)))
    }

    fn admit_at_once(&self, charges: &[RuleCharge<'_>], told: &mut [BucketState]) -> bool {
        let mut left = self.at_once.lock().unwrap();
        assert_eq!(charges.len(), told.len());
        if *left > 0 {
            told.iter_mut().zip(1..).for_each(|(told, at)| *told = state(at * 7_000_000, Span::ZERO));
        }
        left.checked_sub(1).map(|less| *left = less).is_some()
    }

    fn watch(&self, watched: Watched) {
        for (at, charge) in watched.charges.iter().enumerate() {
            if !self.limiter.check_all(&[self.charge(&charge.bucket, charge.cost)]).is_admitted() {
                watched.note_denied(at);
            }
        }
    }

    fn settle(&self, id: ReservationId, costs: TrueCosts) -> LedgerFuture<'_, Result<Settled, SettleFault>> {
        let settled = match (self.reserved.lock().unwrap().remove(&id), costs) {
            (None, _) => Err(SettleError::Unknown),
            (Some(open), TrueCosts::Nothing) => open.cancel(),
            (Some(open), TrueCosts::Same(cost)) => open.commit(cost),
            (Some(open), TrueCosts::Each(costs)) => open.commit_each(&costs),
        };
        Box::pin(ready(settled.map_err(SettleFault::Refused)))
    }

    fn settle_later(&self, id: ReservationId, costs: TrueCosts) {
        self.settled_later.lock().unwrap().push(costs.clone());
        drop(self.settle(id, costs));
    }

    fn look(&self, _: Bucket, _: Cost) -> LedgerFuture<'_, Result<BucketLook, LedgerDown>> {
        Box::pin(ready(Err(LedgerDown)))
    }

    fn give(&self, _: Bucket, _: Gift) -> LedgerFuture<'_, Result<Given, LedgerDown>> {
        Box::pin(ready(Err(LedgerDown)))
    }
}

fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(told) => told,
        Poll::Pending => panic!("this ledger answers at once"),
    }
}

fn limiter(ledger: &Arc<InProcess>, policy: &str) -> PolicyLimiter {
    let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Limiter::builder().build_with_ledger(policy, Arc::clone(ledger) as Arc<dyn Ledger>).unwrap()
}

fn decide(limiter: &PolicyLimiter) -> Decision {
    at_once(limiter.decide(&Facts { address: Some([192, 0, 2, 7].into()), ..Facts::new("GET", "/") }))
}

const FIVE: &str = "{name: client, scope: ip, rate: 1/h, burst: 5}";

#[test]
fn limiters_over_one_ledger_keep_one_limit_and_tell_what_it_says() {
    let ledger = InProcess::new();
    let (one, other) = (limiter(&ledger, FIVE), limiter(&ledger, FIVE));
    let admitted = (0..10).filter(|at| decide(if at % 2 == 0 { &one } else { &other }).is_admitted()).count();
    assert_eq!(admitted, 5);
    let denied = decide(&one);
    assert_eq!((denied.mode(), one.rule_stats(0).denied), (StoreMode::Leased, 3));
    assert_eq!(denied.retry_after().unwrap().as_secs(), 3_600);
    let (status, body) = one.answer(&denied, |answering| (answering.status(), answering.problem().unwrap()));
    assert_eq!(status, 429);
    assert!(body.contains("\"mode\":\"leased\"") && body.contains("\"retry_after_ms\":3600000"), "{body}");
    let standings: Vec<_> = one.standings(&denied).map(|standing| standing.full_in().unwrap()).collect();
    assert_eq!(standings, [Span::from_secs(42)], "as the ledger said, not as memory would");
}

#[test]
fn what_the_ledger_admits_at_once_is_told_alike_and_all_else_is_asked() {
    let ledger = InProcess::new();
    let two = "rules: [{name: client, scope: ip, rate: 1/h, burst: 5}, {name: all, scope: global, rate: 1/h, burst: 9}]";
    let (one, both) = (limiter(&ledger, FIVE), limiter(&ledger, two));
    *ledger.at_once.lock().unwrap() = 4;
    for (limiter, left) in [(&one, vec![7]), (&both, vec![7, 14])] {
        for _ in 0..2 {
            let decision = decide(limiter);
            let least = tollgate::Tokens::from_micros(7_000_000);
            let verdict = Verdict::Admit { remaining: least, delay: Span::ZERO };
            assert_eq!((decision.verdict(), decision.mode()), (Some(verdict), StoreMode::Leased));
            let told: Vec<u64> = limiter.balances(&decision).map(tollgate::Tokens::whole).collect();
            assert_eq!(told, left);
        }
    }
    assert_eq!((0..9).filter(|_| decide(&one).is_admitted()).count(), 5, "nothing was charged so far");
    *ledger.at_once.lock().unwrap() = 1;
    let facts = Facts { address: Some([192, 0, 2, 7].into()), ..Facts::new("GET", "/") };
    let retried = Asking::Once { idempotency_key: "order-7", lifetime: Span::from_secs(60) };
    for asking in [Asking::Peek, retried] {
        assert!(!at_once(one.policy().decide(&facts, asking)).is_admitted());
    }
    assert!(at_once(one.policy().decide_and_reserve(&facts, Span::from_secs(60))).unwrap().1.is_none());
    let watched = "rules: [{name: client, scope: ip, rate: 1/h, burst: 5}, \
                   {name: w, scope: global, rate: 1/h, burst: 1, mode: shadow}]";
    assert!(!decide(&limiter(&ledger, watched)).is_admitted());
    let settled = "{name: client, scope: ip, rate: 1/h, burst: 5, settle_header: x-cost}";
    assert!(!decide(&limiter(&ledger, settled)).is_admitted());
    assert_eq!(*ledger.at_once.lock().unwrap(), 1);
}

#[test]
fn who_does_not_wait_for_the_ledger_is_refused_and_so_is_everybody_where_it_is_down() {
    let ledger = InProcess::new();
    let limiter = limiter(&ledger, FIVE);
    let facts = Facts::new("GET", "/");
    for decision in [limiter.check(&facts), limiter.peek(&facts)] {
        assert_eq!((decision.is_admitted(), decision.refused()), (false, Some(Refused::NotAwaited)));
    }
    *ledger.is_down.lock().unwrap() = true;
    let decision = decide(&limiter);
    assert_eq!(decision.refused(), Some(Refused::LedgerDown { wait: Span::from_secs(3) }));
    let (status, reason) =
        limiter.answer(&decision, |answer| (answer.status(), answer.reason().map(str::to_owned)));
    assert_eq!((status, reason.as_deref()), (503, Some("store_unavailable")));
}

#[test]
fn peeks_charge_nothing_and_retries_are_charged_once() {
    let ledger = InProcess::new();
    let limiter = limiter(&ledger, FIVE);
    let facts = Facts { address: Some([192, 0, 2, 7].into()), ..Facts::new("GET", "/") };
    let once = Asking::Once { idempotency_key: "order-7", lifetime: Span::from_secs(60) };
    for asking in [Asking::Peek, once, once, once, Asking::Peek] {
        assert!(at_once(limiter.policy().decide(&facts, asking)).is_admitted());
    }
    assert_eq!((0..9).filter(|_| decide(&limiter).is_admitted()).count(), 4);
    let empty = Asking::Once { idempotency_key: "", lifetime: Span::from_secs(60) };
    assert!(!at_once(limiter.policy().decide(&facts, empty)).is_admitted());
}

#[test]
fn rules_that_only_watch_are_charged_by_who_is_admitted_and_counted() {
    let ledger = InProcess::new();
    let policy = "rules: [{name: all, scope: global, rate: 1/h, burst: 4}, \
                  {name: w, scope: global, rate: 1/h, burst: 1, mode: shadow}]";
    let limiter = limiter(&ledger, policy);
    let admitted = (0..6).filter(|_| decide(&limiter).is_admitted()).count();
    assert_eq!((admitted, limiter.rule_stats(1).shadow_denied), (4, 3));
    assert_eq!(limiter.checks_shadow_denied(), 3);
}

#[test]
fn a_request_that_only_watching_rules_meet_charges_them() {
    let ledger = InProcess::new();
    let limiter = limiter(&ledger, "{name: w, scope: global, rate: 1/h, burst: 2, mode: shadow}");
    assert!((0..5).all(|_| decide(&limiter).is_admitted()));
    assert_eq!(limiter.rule_stats(0).shadow_denied, 3);
    let facts = Facts::new("GET", "/");
    let reserved = at_once(limiter.policy().decide_and_reserve(&facts, Span::from_secs(60))).unwrap();
    assert!(reserved.0.is_admitted() && reserved.1.is_none());
    assert_eq!(limiter.rule_stats(0).shadow_denied, 4);
    let _ = at_once(limiter.policy().decide(&facts, Asking::Peek));
    assert_eq!(limiter.rule_stats(0).shadow_denied, 4, "a peek leaves them alone");
}

#[test]
fn a_response_settles_and_places_are_given_back_when_the_decision_is_dropped() {
    let ledger = InProcess::new();
    let policy = "rules: [{name: jobs, scope: global, algorithm: concurrency, places: 1, timeout: 1h}, \
                  {name: work, scope: global, rate: 1/h, burst: 10, fixed_cost: 5, settle_header: x-cost}]";
    let limiter = limiter(&ledger, policy);
    let first = decide(&limiter);
    assert!(first.is_admitted() && first.awaits_response());
    assert!(!decide(&limiter).is_admitted(), "the place is taken");
    limiter.settle(&first, 200, |name| (name == "x-cost").then_some("2"));
    drop(first);
    let due = [Cost::micros(0), Cost::tokens(2)];
    assert_eq!(*ledger.settled_later.lock().unwrap(), [TrueCosts::Each(due.to_vec())]);
    let again = decide(&limiter);
    assert!(again.is_admitted(), "the place is free");
    let left: Vec<u64> = limiter.balances(&again).map(tollgate::Tokens::whole).collect();
    assert_eq!(left[1], 3, "ten, less two that it was, less five");
}

#[test]
fn a_reservation_is_settled_by_its_name() {
    let ledger = InProcess::new();
    let limiter = limiter(&ledger, FIVE);
    let facts = Facts { address: Some([192, 0, 2, 7].into()), ..Facts::new("GET", "/") };
    let reserve = |timeout| at_once(limiter.policy().decide_and_reserve(&facts, timeout));
    assert!(reserve(Span::ZERO).is_err());
    let (decision, id) = reserve(Span::from_secs(60)).unwrap();
    assert!(decision.is_admitted());
    assert!(at_once(limiter.settle_reservation(id.unwrap(), TrueCosts::Nothing)).is_ok());
    let again = at_once(limiter.settle_reservation(id.unwrap(), TrueCosts::Nothing));
    assert_eq!(again, Err(SettleFault::Refused(SettleError::Unknown)));
    assert_eq!((0..9).filter(|_| decide(&limiter).is_admitted()).count(), 5);
    assert!(reserve(Span::from_secs(60)).unwrap().1.is_none(), "nothing was charged");
}

#[test]
fn a_policy_that_the_ledger_refuses_does_not_come_into_force() {
    let ledger = InProcess::new();
    let limiter = limiter(&ledger, FIVE);
    let refused = Policy::parse("p.yaml", "{name: refused, scope: ip, rate: 1/h, burst: 7}").unwrap();
    let error = limiter.swap(refused).unwrap_err();
    assert_eq!(error.to_string(), "rule `refused` cannot be kept in the shared store: `burst` is 7; use 8");
    assert_eq!(limiter.policy().rules[0].name.as_ref(), "client");
}

#[test]
fn the_keys_by_which_rules_know_the_client_are_kept_over_the_wait() {
    let ledger = InProcess::new();
    let policy = Policy::parse("p.yaml", FIVE).unwrap();
    let shared = Arc::clone(&ledger) as Arc<dyn Ledger>;
    let limiter = Limiter::builder().keep_keys().build_with_ledger(policy, shared).unwrap();
    let key_of = |decision: &Decision| decision.clients().map(|it| (it.key.to_vec(), it.is_denied)).collect();
    let seen: Vec<Vec<(Vec<u8>, bool)>> = (0..6).map(|_| key_of(&decide(&limiter))).collect();
    let [(key, false)] = &seen[0][..] else { panic!("one rule was asked: {seen:?}") };
    assert!(key.windows(4).any(|part| part == [192, 0, 2, 7]));
    assert_eq!(seen[5], [(key.clone(), true)]);
}

#[test]
fn the_ledger_is_told_what_the_policy_says_of_the_store() {
    let ledger = InProcess::new();
    let rule = "rules: [{name: client, scope: ip, rate: 1/h, burst: 5}]";
    let limiter = limiter(&ledger, rule);
    assert_eq!(*ledger.settings.lock().unwrap(), StoreSettings::default());
    let settings = format!("{{store: {{deadline: 7ms, instances_max: 3}}, {rule}}}");
    limiter.swap(Policy::parse("p.yaml", &settings).unwrap()).unwrap();
    let settings = ledger.settings.lock().unwrap().clone();
    assert_eq!((settings.deadline, settings.instances_max), (Span::from_millis(7), Some(3)));
}

#[test]
fn in_memory_a_decision_is_made_at_once() {
    let policy = Policy::parse("p.yaml", FIVE).unwrap();
    let limiter = Limiter::from_policy(policy).unwrap();
    assert_eq!((0..9).filter(|_| decide(&limiter).is_admitted()).count(), 5);
    assert_eq!(decide(&limiter).mode(), StoreMode::Exact);
}

#[test]
fn who_is_denied_and_has_neither_user_nor_address_is_known_by_its_key_on_every_node() {
    let ledger = InProcess::new();
    let policy = "{name: per-key, limit_keys: ['query:key'], rate: 1/h, burst: 1}";
    let nodes = [limiter(&ledger, policy), limiter(&ledger, policy)];
    let denied = |node: usize, target: &str| {
        let facts = Facts::new("GET", target);
        let decide = || at_once(nodes[node].policy().decide(&facts, Asking::Check));
        let (_, second) = (decide(), decide());
        assert!(!second.is_admitted());
        second.identity()
    };
    let (ann, bob) = (denied(0, "/?key=ann"), denied(0, "/?key=bob"));
    assert_ne!(ann, bob, "they are not to come back at the same time");
    assert_eq!(denied(1, "/?key=ann"), ann);
}
