//! Anything at random: limits, charges, actions.

use tollgate_core::{
    Algorithm, Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Limit, Rate, SlidingCounter, SlidingLog,
    Span, Window,
};

use super::Writer;
use crate::conformance::action::Action;
use crate::conformance::stage::sound;
use crate::conformance::subject::{Charge, Key, RuleId, Settlement, Ticket};
use crate::seeds::{Rng, any_magnitude};

/// A limit that a short history can exhaust and refill: to 10^6 per second, periods to 20 s, bursts to 100 tokens.
pub fn any_limit(rng: &mut Rng) -> Limit {
    loop {
        let tokens = if rng.u8(0..4) == 0 { any_magnitude(rng, 1_000_000) } else { rng.u64(1..=50) };
        let burst = any_amount(rng);
        let rate = Rate::new(tokens, Span::from_secs(rng.u64(1..=20)));
        if let Ok(limit) = Limit::new(rate, burst) {
            return limit;
        }
    }
}

/// Any algorithm, half of them token buckets; windows to 20 s.
pub fn any_algorithm(rng: &mut Rng) -> Algorithm {
    let window = Span::from_secs(rng.u64(1..=20));
    match rng.u8(0..10) {
        0 => leaky(rng).into(),
        1 => sound(FixedWindow::new(any_amount(rng), sound(Window::every(window)))).into(),
        2 => sound(SlidingCounter::new(any_amount(rng), window)).into(),
        3 => sound(SlidingLog::new(any_amount(rng), window)).into(),
        4 => sound(Concurrency::new(rng.u32(1..=5), window)).into(),
        _ => any_limit(rng).into(),
    }
}

/// Another limit of the same algorithm, window and timeout; now and then any.
pub(super) fn another(rng: &mut Rng, algorithm: Algorithm) -> Algorithm {
    match algorithm {
        _ if rng.u8(0..20) == 0 => any_algorithm(rng),
        Algorithm::TokenBucket(_) => any_limit(rng).into(),
        Algorithm::LeakyBucket(_) => leaky(rng).into(),
        Algorithm::FixedWindow(window) => sound(FixedWindow::new(any_amount(rng), window.window())).into(),
        Algorithm::SlidingCounter(counter) => {
            sound(SlidingCounter::new(any_amount(rng), counter.window())).into()
        }
        Algorithm::SlidingLog(log) => sound(SlidingLog::new(any_amount(rng), log.window())).into(),
        Algorithm::Concurrency(places) => sound(Concurrency::new(rng.u32(1..=5), places.timeout())).into(),
        _ => algorithm,
    }
}

fn leaky(rng: &mut Rng) -> LeakyBucket {
    let limit = any_limit(rng);
    let [micros, nanos, burst] = limit.terms();
    // The same rate in tokens, as far as it is a whole number of them.
    let rate = Rate::new(micros, Span::from_nanos(nanos.saturating_mul(1_000_000)));
    match LeakyBucket::new(rate, Burst::micros(burst)) {
        Ok(leaky) if rng.u8(0..3) == 0 => {
            leaky.max_wait(Span::from_nanos(any_magnitude(rng, limit.time_to_full().as_nanos().max(1))))
        }
        Ok(leaky) => leaky,
        Err(_) => sound(LeakyBucket::new(Rate::per_second(1), Burst::micros(burst))),
    }
}

/// Up to 100 tokens.
fn any_amount(rng: &mut Rng) -> Burst {
    Burst::micros(if rng.bool() { rng.u64(1..=20) * 1_000_000 } else { any_magnitude(rng, 100_000_000) })
}

/// How long it takes until what was spent is there again.
fn time_to_full(algorithm: Algorithm) -> Span {
    match algorithm {
        Algorithm::TokenBucket(limit) => limit.time_to_full(),
        Algorithm::LeakyBucket(leaky) => leaky.limit().time_to_full(),
        Algorithm::FixedWindow(window) => window.window().length(),
        Algorithm::SlidingCounter(counter) => counter.window(),
        Algorithm::SlidingLog(log) => log.window(),
        Algorithm::Concurrency(places) => places.timeout(),
        _ => Span::ZERO,
    }
}

impl Writer {
    pub(super) fn any_action(&mut self) -> Action {
        match self.rng.u8(0..40) {
            0..=3 => Action::Peek(self.any_charge()),
            4..=7 => Action::CheckEach(self.any_charges(24)),
            8..=15 => Action::CheckAll(self.any_charges(6)),
            16..=18 => {
                let key = Key::Number(self.rng.u64(0..3));
                let pause = self.any_pause();
                let lifetime = self.precision.lifetime(pause);
                Action::CheckOnce(key, lifetime, self.any_charges(2))
            }
            19..=21 => Action::Enter(self.new_ticket(), self.any_charges(3)),
            22..=23 => match self.held.len() {
                0 => Action::Enter(self.new_ticket(), self.any_charges(2)),
                held => Action::Leave(self.held[self.rng.usize(0..held)]),
            },
            24..=26 => {
                let (ticket, pause) = (self.new_ticket(), self.any_pause());
                let timeout = Span::from_nanos(pause.as_nanos().saturating_mul(8));
                let timeout = self.precision.lifetime(timeout);
                Action::Reserve(ticket, self.any_charges(3), timeout)
            }
            27..=29 => self.any_settlement(),
            30 => Action::Refund(self.any_charge()),
            31 => Action::Grant(self.any_charge()),
            32 if self.rng.bool() => Action::Reset(self.any_charge()),
            32..=33 => Action::Balance(self.any_charge()),
            _ => Action::Check(self.any_charge()),
        }
    }

    /// Of one of the latest tickets, whatever it was for.
    fn any_settlement(&mut self) -> Action {
        let ticket = Ticket(self.tickets.saturating_sub(self.rng.usize(1..=4)));
        Action::Settle(
            ticket,
            match self.rng.u8(0..4) {
                0 => Settlement::Cancel,
                1 => Settlement::Commit(self.any_charge().cost),
                _ => {
                    let costs = self.rng.usize(1..=3);
                    Settlement::CommitEach((0..costs).map(|_| self.any_charge().cost).collect())
                }
            },
        )
    }

    fn new_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets - 1)
    }

    pub(super) fn any_pause(&mut self) -> Span {
        let rule = self.any_rule();
        let longest = time_to_full(self.limits[rule.0]).as_nanos().max(1);
        Span::from_nanos(match self.rng.u8(0..4) {
            0 => 0,
            1 => any_magnitude(&mut self.rng, longest),
            _ => self.rng.u64(0..=longest / 4),
        })
    }

    pub(super) fn any_rule(&mut self) -> RuleId {
        RuleId(self.rng.usize(0..self.limits.len()))
    }

    /// Up to `most` charges, no two of which want one bucket under two tiers.
    fn any_charges(&mut self, most: usize) -> Vec<Charge> {
        let mut charges: Vec<Charge> = Vec::new();
        for _ in 0..self.rng.usize(0..=most) {
            let charge = self.any_charge();
            if !charges.iter().any(|other| self.reference.disagree(other, &charge)) {
                charges.push(charge);
            }
        }
        charges
    }

    fn any_charge(&mut self) -> Charge {
        let rule = self.any_rule();
        let key = match self.rng.u8(0..40) {
            0 => Key::from(""),
            1 => Key::Bytes(vec![b'x'; self.rng.usize(510..=514)]),
            2..=9 => Key::Number(self.rng.u64(0..4)),
            _ => Key::Bytes(vec![b'a' + self.rng.u8(0..4)]),
        };
        let burst = self.limits[rule.0].full().as_micros();
        let cost = match self.rng.u8(0..40) {
            0 => 0,
            1 => burst + 1,
            2 => u64::MAX,
            3..=9 => burst,
            10..=24 => self.rng.u64(1..=burst.div_ceil(2)),
            _ => any_magnitude(&mut self.rng, burst),
        };
        let left_alone = if self.rng.u8(0..8) == 0 { self.rng.u8(0..100) } else { 0 };
        Charge { rule, key, cost: Cost::micros(cost), left_alone }
    }
}
