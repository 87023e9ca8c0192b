//! The ledger once more, as a script would have it: in doubles, every one of which must be exact. It answers as the specification does.

use std::ops::Range;

use tollgate_core::{
    Answer, Ask, Burst, LEDGER_BURST_MICROS_MAX, LeaseTerms, LedgerBucket, LedgerLimit, LedgerSpend, Limit,
    NodeRecord, Rate, Span, Tokens, ask_ledger,
};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::doubles::{Double, ONE, ZERO};

/// Asks of one history.
pub(crate) const STEPS: u64 = 60;

/// What the script is given of a limit.
#[derive(Debug, Clone, Copy)]
struct Rule {
    num: Double,
    den: Double,
    burst: Double,
    from: Double,
    frac: Double,
    debt: Double,
}

/// What the script is given of the terms. The limits are oldest first.
struct Terms {
    limits: Vec<Rule>,
    burst: Double,
    life: Double,
    ahead: Double,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    b: Double,
    t: Double,
    e: Double,
    x: Double,
    r1: Double,
    r0: Double,
}

impl Rule {
    fn of(limit: &LedgerLimit) -> Rule {
        let [num, den, burst] = limit.terms().map(Double::of);
        let (most, periods) = (Double::of(LEDGER_BURST_MICROS_MAX), Double::of(1 << 50).div(den));
        // In the script the product may be inexact where it is above the most.
        let repaid = if periods > most.div(num) { most } else { periods * num };
        let debt = repaid.max(burst).min(most - burst);
        Rule { num, den, burst, from: Double::of(limit.from()), frac: Double::of(limit.fraction()), debt }
    }

    fn split(&self, t: Double) -> (Double, Double) {
        let x = (t - self.from).max(ZERO);
        let r = x.fmod(self.den);
        (x.div(self.den), (r * self.num + self.frac).div(self.den))
    }

    fn minted(&self, start: Double, end: Double, most: Double) -> Double {
        if end <= start {
            return ZERO;
        }
        let ((q1, f1), (q2, f2)) = (self.split(start), self.split(end));
        if q2 - q1 > most.div(self.num) + ONE {
            return most;
        }
        ((q2 - q1) * self.num + f2 - f1).min(most)
    }

    fn time_to_mint(&self, start: Double, amount: Double) -> Double {
        if amount == ZERO {
            return ZERO;
        }
        let (q, f) = self.split(start);
        let n = f + amount;
        let y = n.fmod(self.num) * self.den - self.frac;
        // `div` cuts off, below 0 too.
        let mut at = self.from + (q + n.div(self.num)) * self.den + y.div(self.num);
        if y.fmod(self.num) > ZERO {
            at = at + ONE;
        }
        at - start
    }

    fn most(&self, k: &Bucket) -> Double {
        (self.burst - (k.r1 + k.r0)).max(ZERO)
    }

    fn refilled(&self, mut k: Bucket, until: Double) -> Bucket {
        let most = self.most(&k);
        k.b = k.b.min(most).max(ZERO - self.debt);
        k.b = k.b + self.minted(k.t, until, most - k.b);
        k.t = until;
        k
    }
}

impl Terms {
    fn of(terms: &LeaseTerms) -> Terms {
        let limits = terms.past().rev().chain([terms.ledger()]).map(Rule::of).collect();
        let (life, ahead) = (Double::of(terms.life_micros()), Double::of(terms.ahead_max()));
        Terms { limits, burst: Double::of(terms.ledger().burst()), life, ahead }
    }

    fn newest(&self) -> &Rule {
        self.limits.last().unwrap()
    }

    fn refilled(&self, mut k: Bucket, until: Double) -> Bucket {
        let begun = k.t;
        for (i, limit) in self.limits.iter().enumerate() {
            match self.limits.get(i + 1) {
                Some(next) if begun < next.from.min(until) && limit.from <= until => {
                    k = limit.refilled(k, next.from.min(until));
                }
                Some(_) => {}
                None => k = limit.refilled(k, until),
            }
        }
        k
    }

    /// What a bucket that was never charged holds.
    fn full(&self, now: Double) -> Double {
        let oldest = self.limits[0];
        let t = if self.limits.len() == 1 { now } else { oldest.from.min(now) };
        self.refilled(Bucket { b: oldest.burst, t, e: ZERO, x: ZERO, r1: ZERO, r0: ZERO }, now).b
    }

    fn minted_at(&self, start: Double, mut missing: Double) -> Double {
        let mut at = start;
        for (limit, next) in self.limits.iter().zip(&self.limits[1..]) {
            if at >= next.from {
                continue;
            }
            let minted = limit.minted(at, next.from, missing);
            if minted == missing {
                return at + limit.time_to_mint(at, missing);
            }
            (at, missing) = (next.from, missing - minted);
        }
        at + self.newest().time_to_mint(at, missing)
    }

    fn at(&self, mut k: Bucket, now: Double) -> Bucket {
        if k.t > now {
            if k.t - now <= Double::of(1_000_000) {
                return self.refilled(k, k.t);
            }
            (k.t, k.x) = (now, now + self.life);
        }
        if now < k.x {
            return self.refilled(k, now);
        }
        k = self.refilled(k, k.x);
        (k.r0, k.r1, k.e, k.x) = (k.r1, ZERO, k.e + ONE, k.x + self.life);
        if now < k.x {
            return self.refilled(k, now);
        }
        k = self.refilled(k, k.x);
        (k.r0, k.e, k.x) = (ZERO, k.e + ONE, now + self.life);
        self.refilled(k, now)
    }

    fn wait_for(&self, k: &Bucket, amount: Double, now: Double) -> Double {
        let mut then = *k;
        for end in [k.x, k.x + self.life] {
            if let Some(at) = self.reaches(&then, amount)
                && at <= end
            {
                return at - now;
            }
            then = self.refilled(then, end);
            (then.r0, then.r1) = (then.r1, ZERO);
        }
        self.reaches(&then, amount).map_or(self.life, |at| at - now)
    }

    fn reaches(&self, k: &Bucket, amount: Double) -> Option<Double> {
        if k.b >= amount {
            return Some(k.t);
        }
        let missing = amount - k.b;
        (missing <= self.newest().most(k) - k.b).then(|| self.minted_at(k.t, missing))
    }

    /// Granted, wait, held and balance; and whether it is to be written.
    fn ask(
        &self,
        stored: Bucket,
        record: Option<(Double, Double)>,
        ask: &Ask,
        now: Double,
    ) -> (Bucket, [Double; 3], bool) {
        let mut k = self.at(stored, now);
        let mut held = ZERO;
        if let Some((epoch, known)) = record {
            if epoch == k.e {
                held = known.min(k.r1);
                k.r1 = k.r1 - held;
            } else if epoch + ONE == k.e {
                held = known.min(k.r0);
                k.r0 = k.r0 - held;
            }
        }
        let unspent = Double::of(ask.unspent.as_micros()).min(held);
        let back = Double::of(ask.back.as_micros()).min(held - unspent);
        let wanted = Double::of(ask.want.as_micros()).min(self.burst);
        let least = Double::of(ask.least.as_micros()).max(ONE).min(wanted);
        let room = self.burst - (k.r1 + k.r0 + unspent);
        let most = (self.full(k.t) - (k.r1 + k.r0 + unspent)).max(ZERO).max(k.b);
        k.b = (k.b + back).min(most);
        let (mut granted, mut wait) = (ZERO, ZERO);
        if wanted > ZERO {
            if k.b >= wanted {
                granted = wanted;
            } else if wanted - k.b <= self.ahead && wanted <= room {
                (granted, wait) = (wanted, self.newest().time_to_mint(k.t, wanted - k.b));
            } else if k.b >= least {
                granted = k.b;
            }
        }
        k.b = k.b - granted;
        k.r1 = k.r1 + unspent + granted;
        if granted == ZERO && wanted > ZERO {
            wait = self.wait_for(&k, least, k.t);
        }
        if wait > ZERO && k.t > now {
            wait = wait + (k.t - now);
        }
        let is_changed = granted > ZERO || held > ZERO || stored.t > k.t;
        (k, [granted, wait, unspent + granted], is_changed)
    }
}

/// Every number on the way is exact, and every answer and state is that of the specification, for any limit that a ledger accepts.
pub(crate) fn answers_as_the_specification(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let mut terms = any_terms(rng);
        let mut script = Terms::of(&terms);
        let mut now = rng.u64(1 << 50..1 << 52);
        let mut bucket: Option<LedgerBucket> = None;
        let mut records: [Option<NodeRecord>; 3] = [None; 3];
        for seq in 1..=STEPS {
            now = any_later(rng, &terms, now);
            if rng.u8(0..12) == 0 {
                terms = terms.changed(any_terms(rng).limit(), now).unwrap();
                script = Terms::of(&terms);
            }
            let stored = as_script(bucket.unwrap_or(LedgerBucket::full(&terms, now)));
            if rng.u8(0..5) == 0 {
                bucket =
                    same_spend(&terms, &script, bucket, stored, any_amount(rng, &terms).as_micros(), now);
                continue;
            }
            let (ask, node) = (any_ask(rng, &terms, seq), rng.usize(0..3));
            let asked = ask_ledger(&terms, bucket, records[node], &ask, now);
            let record = records[node]
                .map(|record| (Double::of(record.epoch), Double::of(record.answer.held.as_micros())));
            let (charged, [granted, wait, held], is_changed) =
                script.ask(stored, record, &ask, Double::of(now));
            let answer = Answer {
                granted: Tokens::from_micros(granted.as_u64()),
                wait: Span::from_micros(wait.as_u64()),
                held: Tokens::from_micros(held.as_u64()),
                balance: charged.b.as_i64(),
            };
            assert_eq!(asked.answer, Some(answer), "{ask:?} at {now} of {bucket:?}");
            let written = is_changed
                .then(|| (of_script(charged), NodeRecord { seq, epoch: charged.e.as_u64(), answer }));
            assert_eq!(asked.write, written);
            if let Some((written, record)) = written {
                bucket = Some(written);
                records[node] = Some(record);
            }
        }
    });
}

fn same_spend(
    terms: &LeaseTerms,
    script: &Terms,
    bucket: Option<LedgerBucket>,
    stored: Bucket,
    cost: u64,
    now: u64,
) -> Option<LedgerBucket> {
    let (cost_in_script, now_in_script) = (Double::of(cost), Double::of(now));
    let mut charged = script.at(stored, now_in_script);
    match LedgerBucket::spend(bucket, terms, cost, now) {
        LedgerSpend::Spent(spent) => {
            charged.b = charged.b - cost_in_script;
            assert_eq!(of_script(charged), spent);
            Some(spent)
        }
        LedgerSpend::Denied { wait, balance } => {
            assert_eq!(script.wait_for(&charged, cost_in_script, now_in_script).as_u64(), wait);
            assert_eq!(charged.b.as_i64(), balance);
            bucket
        }
        LedgerSpend::Never => panic!("{cost}"),
    }
}

fn as_script(bucket: LedgerBucket) -> Bucket {
    let [t, e, x, r1, r0] =
        [bucket.stamp, bucket.epoch, bucket.epoch_end, bucket.held_new, bucket.held_old].map(Double::of);
    Bucket { b: Double::signed(bucket.balance), t, e, x, r1, r0 }
}

fn of_script(k: Bucket) -> LedgerBucket {
    LedgerBucket {
        balance: k.b.as_i64(),
        stamp: k.t.as_u64(),
        epoch: k.e.as_u64(),
        epoch_end: k.x.as_u64(),
        held_new: k.r1.as_u64(),
        held_old: k.r0.as_u64(),
    }
}

/// Any limit that a ledger accepts, the largest and the slowest among them.
fn any_terms(rng: &mut Rng) -> LeaseTerms {
    loop {
        let period = match rng.u8(0..4) {
            0 => Span::from_secs(1),
            1 => Span::from_secs(any_magnitude(rng, 31_536_000)),
            2 => Span::from_nanos(any_magnitude(rng, 1_000_000_000)),
            _ => Span::from_millis(any_magnitude(rng, 1_000_000)),
        };
        let burst = match rng.u8(0..4) {
            0 => LEDGER_BURST_MICROS_MAX,
            1 => LEDGER_BURST_MICROS_MAX - rng.u64(0..LEDGER_BURST_MICROS_MAX / 2),
            _ => any_magnitude(rng, LEDGER_BURST_MICROS_MAX),
        };
        let life = Span::from_micros(rng.u64(40_000..=60_000_000));
        let limit = Limit::new(Rate::new(any_magnitude(rng, 1_000_000_000), period), Burst::micros(burst));
        if let Ok(terms) = limit.map(|limit| LeaseTerms::new(&limit, rng.u32(1..9), life))
            && let Ok(terms) = terms
        {
            return terms;
        }
    }
}

fn any_ask(rng: &mut Rng, terms: &LeaseTerms, seq: u64) -> Ask {
    let [unspent, back, want, least] = std::array::from_fn(|_| any_amount(rng, terms));
    let want = if rng.u8(0..6) == 0 { Tokens::ZERO } else { want };
    Ask { seq, unspent, back, want, least }
}

fn any_amount(rng: &mut Rng, terms: &LeaseTerms) -> Tokens {
    let burst = terms.ledger().burst();
    Tokens::from_micros(match rng.u8(0..4) {
        0 => burst,
        1 => rng.u64(0..=burst),
        2 => rng.u64(0..=terms.ahead_max()),
        _ => any_magnitude(rng, burst),
    })
}

fn any_later(rng: &mut Rng, terms: &LeaseTerms, now: u64) -> u64 {
    let (life, full) = (terms.life_micros(), terms.ledger().time_to_mint(now, terms.ledger().burst()));
    let later = now
        + match rng.u8(0..8) {
            0 => 0,
            1 => rng.u64(0..1_000),
            2..=4 => rng.u64(0..3 * life),
            5 => rng.u64(0..=full),
            6 => any_magnitude(rng, 1 << 50),
            _ => rng.u64(0..life),
        };
    match rng.u8(0..20) {
        0 => now - rng.u64(0..1_500_000),
        1 => now - rng.u64(0..10_000_000_000),
        _ => later.min(1 << 52),
    }
}
