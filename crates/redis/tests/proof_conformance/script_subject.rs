//! The store behind a ledger, as the conformance suite sees a store: the script over a link, at the times that the suite says.
//!
//! Limits are declared on the server, by the same record that nodes agree by. Names and limits go in, what the script said comes out;
//! nothing is decided here but which of several faults is told first.

use std::cell::Cell;
use std::collections::BTreeMap;

use tollgate::CheckError;
use tollgate_core::{Algorithm, CHARGES_MAX, Cost, Moment, Rate, Span, Tokens};
use tollgate_redis::{
    Batch, BatchError, Changed, Charge as Asked, Checked, Declaration, DeclareError, DeclareStep, Declared,
    HistoryError, KeyName, KeySpace, LimitHistory, PAST_LIMITS_MAX, RuleIdentity, SharedLimit, Told,
};
use tollgate_sim::conformance::{
    Breadth, Charge, Fault, Given, Key, Left, Outcome, Precision, RuleId, SettleFault, Settled, Settlement,
    Subject, Ticket,
};

use crate::expiry::Expiry;
use crate::faults::{fault_of, fault_of_batch, outcome_of};
use crate::lessee::Lessee;
use crate::place::Place;
use crate::tickets::{Made, Reserved};

/// Records are kept for so long by the server, at the least: until they are over by the suite's time.
const KEPT: Span = Span::from_secs(3_600);

/// The script under test.
pub(crate) struct ScriptSubject<'p> {
    place: &'p Place<'p>,
    keys: KeySpace,
    rules: Vec<Tier>,
    expiry: Expiry,
    /// Who takes slices before each operation, if anybody does.
    lessee: Option<Lessee<'p>>,
    held: BTreeMap<Ticket, Vec<Made>>,
    reserved: BTreeMap<Ticket, Reserved>,
}

/// A rule, or one of its tiers.
struct Tier {
    /// Under whose name its buckets are.
    rule: RuleIdentity,
    identity: RuleIdentity,
    is_token_bucket: bool,
    history: LimitHistory,
    limit: SharedLimit,
}

/// The slowest of those rates.
const NANOS_PER_TOKEN_MAX: u64 = 10_000_000_000_000_000;

/// A round rate by which a bucket is full in a day at the earliest: limits change in the suite, and buckets are not to be forgotten
/// meanwhile.
fn kept_for_a_day(algorithm: Algorithm) -> Option<Rate> {
    let limit = match algorithm {
        Algorithm::TokenBucket(limit) => limit,
        Algorithm::LeakyBucket(leaky) => leaky.limit(),
        _ => return None,
    };
    let day = Span::from_secs(86_400);
    let (burst, mut nanos_per_token) = (u128::from(limit.burst().as_micros()), 1_000_000_u64);
    while u128::from(nanos_per_token) * burst < u128::from(day.as_nanos()) * 1_000_000
        && nanos_per_token < NANOS_PER_TOKEN_MAX
    {
        nanos_per_token *= 10;
    }
    (limit.time_to_full() < day).then(|| Rate::new(1, Span::from_nanos(nanos_per_token)))
}

fn micros(now: Moment) -> u64 {
    assert_eq!(now.as_nanos() % 1_000, 0, "the suite tells no more than it was asked for");
    now.as_nanos() / 1_000
}

/// Does something with a key of whatever kind.
macro_rules! with_key {
    ($key:expr, |$name:ident| $call:expr) => {
        match $key {
            Key::Bytes($name) => $call,
            Key::Number($name) => $call,
            Key::Address($name) => $call,
        }
    };
}

impl<'p> ScriptSubject<'p> {
    pub(crate) fn new(place: &'p Place<'p>) -> ScriptSubject<'p> {
        ScriptSubject {
            place,
            keys: place.new_keys(),
            rules: Vec::new(),
            expiry: Expiry::default(),
            lessee: None,
            held: BTreeMap::new(),
            reserved: BTreeMap::new(),
        }
    }

    /// The same, where somebody takes a slice of every token bucket and gives it back before each operation; `granted` counts them.
    pub(crate) fn leased(place: &'p Place<'p>, granted: &'p Cell<u64>) -> ScriptSubject<'p> {
        ScriptSubject { lessee: Some(Lessee::new(granted)), ..ScriptSubject::new(place) }
    }

    /// Slices of the token buckets among these, but for those of rules with tiers, are taken and given back.
    fn lease(&mut self, asked: &[Asked], now: Moment) {
        self.expiry.expire(self.place, micros(now));
        let Some(lessee) = &mut self.lessee else { return };
        for Asked { key, limit, .. } in asked {
            let tier = self.rules.iter().find(|tier| tier.limit == *limit);
            let is_alone =
                |tier: &Tier| self.rules.iter().filter(|other| other.rule == tier.rule).count() == 1;
            if tier.is_some_and(|tier| tier.is_token_bucket && is_alone(tier)) {
                lessee.take_and_give_back(self.place, key, limit, micros(now));
                self.expiry.note(self.place, std::slice::from_ref(key), micros(now));
            }
        }
    }

    /// Agrees with the server on a limit; `None` where it does not continue the one before.
    fn declare(&self, identity: &RuleIdentity, algorithm: Algorithm, now: Moment) -> Option<LimitHistory> {
        let declared = Declared { algorithm, slowest: kept_for_a_day(algorithm) };
        let mut declaration = Declaration::new(&self.keys, identity, declared);
        let mut call = declaration.begin();
        loop {
            match declaration.next(&self.place.call(call, micros(now))) {
                Ok(DeclareStep::Send(next)) => call = next,
                Ok(DeclareStep::Agreed(history)) => return Some(history),
                Err(DeclareError::History(HistoryError::OtherKind { .. })) => return None,
                other => panic!("{declared:?} at {now:?}: {other:?}"),
            }
        }
    }

    /// Puts the limits of a rule's tiers together anew.
    fn renew(&mut self, rule: &RuleIdentity) {
        let tiers: Vec<usize> = (0..self.rules.len()).filter(|at| self.rules[*at].rule == *rule).collect();
        if let [alone] = tiers[..] {
            self.rules[alone].limit = self.rules[alone].history.limit().unwrap();
            return;
        }
        let all = tiers.iter().map(|at| (&self.rules[*at].identity, &self.rules[*at].history));
        let limits = SharedLimit::of_tiers(all).unwrap();
        for (at, limit) in tiers.into_iter().zip(limits) {
            self.rules[at].limit = limit;
        }
    }

    /// The first fault is told: of the cost, of the key, of a place that nobody would give back.
    fn asked(&self, charges: &[Charge], is_guarded: bool) -> Result<Vec<Asked>, Fault> {
        match charges.len() {
            0 => return Err(Fault::NoCharges),
            charges if charges > CHARGES_MAX => return Err(Fault::TooManyCharges),
            _ => {}
        }
        let ask = |charge: &Charge| {
            if charge.cost == Cost::micros(0) {
                return Err(Fault::ZeroCost);
            }
            let asked = self.ask(charge)?;
            if asked.limit.takes_places() && !is_guarded { Err(Fault::NeedsGuard) } else { Ok(asked) }
        };
        charges.iter().map(ask).collect()
    }

    fn ask(&self, charge: &Charge) -> Result<Asked, Fault> {
        let Tier { rule, limit, .. } = &self.rules[charge.rule.0];
        let key = with_key!(&charge.key, |key| self.keys.bucket(rule, key)).map_err(fault_of)?;
        let keep = Tokens::from_micros(limit.full().as_micros() / 100 * u64::from(charge.left_alone));
        Ok(Asked::new(key, limit, charge.cost).keeping(keep))
    }

    /// Does operations in one call, all of which touch these keys.
    fn done(
        &mut self,
        now: Moment,
        keys: &[KeyName],
        put: impl FnOnce(&mut Batch) -> Result<(), BatchError>,
    ) -> Result<Vec<Told>, Fault> {
        let now = micros(now);
        self.expiry.expire(self.place, now);
        let mut batch = Batch::new();
        put(&mut batch).map_err(fault_of_batch)?;
        let told = batch.read(&self.place.call(batch.call(), now)).unwrap_or_else(|error| panic!("{error}"));
        self.expiry.note(self.place, keys, now);
        Ok(told)
    }

    fn checked(
        &mut self,
        now: Moment,
        asked: &[Asked],
        put: impl FnOnce(&mut Batch) -> Result<(), BatchError>,
    ) -> Result<Checked, Fault> {
        let keys: Vec<KeyName> = asked.iter().map(|asked| asked.key.clone()).collect();
        self.lease(asked, now);
        match self.done(now, &keys, put)?.remove(0) {
            Told::Checked(checked) => Ok(checked),
            other => panic!("{other:?}"),
        }
    }

    fn changed(
        &mut self,
        now: Moment,
        asked: &Asked,
        put: impl FnOnce(&mut Batch) -> Result<(), BatchError>,
    ) -> Result<Changed, Fault> {
        self.lease(std::slice::from_ref(asked), now);
        match self.done(now, std::slice::from_ref(&asked.key), put)?.remove(0) {
            Told::Changed { changed, .. } => Ok(changed),
            other => panic!("{other:?}"),
        }
    }

    /// What a check has charged.
    fn made(charges: &[Charge], asked: &[Asked], checked: &Checked) -> Vec<Made> {
        let made = checked.buckets.iter().map(|bucket| {
            let members: Vec<usize> = bucket.members.iter().collect();
            let cost = members.iter().fold(Cost::micros(0), |sum, at| sum.plus(asked[*at].cost));
            let Asked { key, limit, .. } = asked[members[0]].clone();
            Made { rule: charges[members[0]].rule, key, limit, cost, receipt: bucket.receipt, members }
        });
        made.collect()
    }
}

fn outcome(checked: Result<Checked, Fault>) -> Outcome {
    checked.map_or_else(Outcome::Invalid, |checked| outcome_of(checked.verdict()))
}

impl Subject for ScriptSubject<'_> {
    fn precision(&self) -> Precision {
        Precision {
            grain: Span::from_micros(1),
            lifetime_grain: Span::from_millis(1),
            changes_max: PAST_LIMITS_MAX,
            has_tiers_of_windows: false,
        }
    }

    fn rule(&mut self, name: &str, _: Breadth, limit: Algorithm, now: Moment) -> RuleId {
        let rule = RuleIdentity::new("suite", name);
        let is_token_bucket = matches!(limit, Algorithm::TokenBucket(_));
        let history = self.declare(&rule, limit, now).expect("the name is new");
        let limit = history.limit().unwrap();
        self.rules.push(Tier { identity: rule.tier(""), is_token_bucket, rule, history, limit });
        RuleId(self.rules.len() - 1)
    }

    fn tier(&mut self, of: RuleId, name: &str, limit: Algorithm, now: Moment) -> Option<RuleId> {
        let rule = self.rules[of.0].rule.clone();
        // Buckets of the rule mean something under the tier only if its own limit could become that one.
        self.rules[of.0]
            .history
            .change(&Declared { algorithm: limit, slowest: None }, micros(now) + 1)
            .ok()?;
        let identity = rule.tier(name);
        let is_token_bucket = matches!(limit, Algorithm::TokenBucket(_));
        let history = self.declare(&identity, limit, now).expect("the name is new to the rule");
        let limit = history.limit().unwrap();
        self.rules.push(Tier { identity, is_token_bucket, rule: rule.clone(), history, limit });
        self.renew(&rule);
        Some(RuleId(self.rules.len() - 1))
    }

    fn set_limit(&mut self, rule: RuleId, limit: Algorithm, now: Moment) -> bool {
        let Some(history) = self.declare(&self.rules[rule.0].identity, limit, now) else { return false };
        self.rules[rule.0].history = history;
        self.renew(&self.rules[rule.0].rule.clone());
        true
    }

    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome {
        self.check_all(std::slice::from_ref(charge), now)
    }

    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome {
        outcome(
            self.asked(charges, false)
                .and_then(|asked| self.checked(now, &asked, |batch| batch.check(&asked))),
        )
    }

    /// All that are sound in one call.
    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome> {
        let each: Vec<Result<Vec<Asked>, Fault>> =
            charges.iter().map(|charge| self.asked(std::slice::from_ref(charge), false)).collect();
        let sound: Vec<Asked> = each.iter().flatten().flatten().cloned().collect();
        let keys: Vec<KeyName> = sound.iter().map(|asked| asked.key.clone()).collect();
        let put =
            |batch: &mut Batch| sound.iter().try_for_each(|asked| batch.check(std::slice::from_ref(asked)));
        self.lease(&sound, now);
        let mut told = self.done(now, &keys, put).expect("they are sound").into_iter();
        let each = each.into_iter().map(|asked| match asked.map(|_| told.next()) {
            Ok(Some(Told::Checked(checked))) => outcome_of(checked.verdict()),
            Ok(other) => panic!("{other:?}"),
            Err(fault) => Outcome::Invalid(fault),
        });
        each.collect()
    }

    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome {
        // Whoever only looks takes no place.
        let asked = self.asked(std::slice::from_ref(charge), true);
        outcome(asked.and_then(|asked| self.checked(now, &asked, |batch| batch.peek(&asked))))
    }

    fn check_once(&mut self, key: &Key, lifetime: Span, charges: &[Charge], now: Moment) -> Outcome {
        if lifetime == Span::ZERO {
            return Outcome::Invalid(fault_of(CheckError::ZeroLifetime));
        }
        let asked = match with_key!(key, |key| self.keys.once(key, &[])) {
            Ok(_) => self.asked(charges, false),
            Err(error) => Err(fault_of(error)),
        };
        let asked = match asked {
            Ok(asked) => asked,
            Err(fault) => return Outcome::Invalid(fault),
        };
        let record = with_key!(key, |key| self.keys.once(key, &asked)).unwrap();
        let put = |batch: &mut Batch| batch.check_once(record.clone(), lifetime.max(KEPT), &asked);
        let checked = self.checked(now, &asked, put);
        if checked.as_ref().is_ok_and(|checked| checked.is_admitted() && !checked.is_retold) {
            self.expiry.keep(&record, micros(now) + lifetime.as_nanos() / 1_000);
        }
        outcome(checked)
    }

    fn enter(&mut self, ticket: Ticket, charges: &[Charge], now: Moment) -> Outcome {
        let asked = match self.asked(charges, true) {
            Ok(asked) => asked,
            Err(fault) => return Outcome::Invalid(fault),
        };
        let checked = self.checked(now, &asked, |batch| batch.enter(&asked));
        if let Ok(checked) = checked.clone()
            && checked.is_admitted()
        {
            let mut made = ScriptSubject::made(charges, &asked, &checked);
            made.retain(|made| made.limit.takes_places());
            self.held.insert(ticket, made);
        }
        outcome(checked)
    }

    fn leave(&mut self, ticket: Ticket, now: Moment) -> Left {
        let mut left = Left::InTime;
        for Made { rule, key, cost, receipt, .. } in self.held.remove(&ticket).expect("it is held") {
            let limit = self.rules[rule.0].limit.clone();
            let asked = Asked::new(key.clone(), &limit, cost);
            let changed =
                self.changed(now, &asked, |batch| batch.let_go(key, &limit, cost, receipt)).unwrap();
            if changed.given() == Tokens::ZERO {
                left = Left::TooLate;
            }
        }
        left
    }

    fn reserve(
        &mut self,
        ticket: Ticket,
        charges: &[Charge],
        timeout: Span,
        now: Moment,
    ) -> Result<(), Outcome> {
        if timeout == Span::ZERO {
            return Err(Outcome::Invalid(Fault::ZeroTimeout));
        }
        let asked = self.asked(charges, true).map_err(Outcome::Invalid)?;
        let record = self.keys.reservation(format!("{:032x}", ticket.0 + 1).parse().unwrap());
        let put = |batch: &mut Batch| batch.reserve(record.clone(), timeout.max(KEPT), b"", &asked);
        let checked = self.checked(now, &asked, put).map_err(Outcome::Invalid)?;
        if !checked.is_admitted() {
            return Err(outcome_of(checked.verdict()));
        }
        self.expiry.keep(&record, micros(now) + timeout.as_nanos() / 1_000);
        let estimates = charges.iter().map(|charge| charge.cost).collect();
        let made = ScriptSubject::made(charges, &asked, &checked);
        self.reserved.insert(ticket, Reserved { record, estimates, made });
        Ok(())
    }

    fn settle(
        &mut self,
        ticket: Ticket,
        settlement: &Settlement,
        now: Moment,
    ) -> Result<Settled, SettleFault> {
        let reserved = self.reserved.get(&ticket).cloned().ok_or(SettleFault::Unknown)?;
        self.expiry.expire(self.place, micros(now));
        let record = reserved.record.clone();
        let expected: Option<Vec<u8>> = self.place.ask(record.as_bytes(), &[b"GET", record.as_bytes()]);
        let expected = expected.ok_or(SettleFault::Unknown)?;
        let costs = reserved.costs(settlement)?;
        let corrections = reserved.corrections(&costs, |rule| self.rules[rule.0].limit.clone());
        let keys: Vec<KeyName> = reserved.made.iter().map(|made| made.key.clone()).collect();
        let put = |batch: &mut Batch| batch.settle(record.clone(), &expected, &corrections);
        match self.done(now, &keys, put).unwrap().remove(0) {
            Told::Settled(changed) => {
                self.expiry.forget(&record);
                Ok(reserved.settled(&costs, &changed))
            }
            Told::Unknown => Err(SettleFault::Unknown),
            other => panic!("{other:?}"),
        }
    }

    fn refund(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        if charge.cost == Cost::micros(0) {
            return Err(Fault::ZeroCost);
        }
        let asked = self.ask(charge)?;
        let changed =
            self.changed(now, &asked, |batch| batch.give(asked.key.clone(), &asked.limit, charge.cost))?;
        Ok(Given { given: changed.given(), balance: changed.balance() })
    }

    fn grant(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.refund(charge, now)
    }

    fn reset(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        let asked = self.ask(charge)?;
        let changed = self.changed(now, &asked, |batch| batch.reset(asked.key.clone(), &asked.limit))?;
        Ok(Given { given: changed.given(), balance: changed.balance() })
    }

    fn balance(&mut self, charge: &Charge, now: Moment) -> Result<Tokens, Fault> {
        let asked = [Asked { cost: Cost::micros(0), ..self.ask(charge)? }];
        let checked = self.checked(now, &asked, |batch| batch.peek(&asked))?;
        Ok(checked.buckets[0].remaining)
    }
}
