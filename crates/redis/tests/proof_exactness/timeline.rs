//! Generated limits, costs and clocks: what a group of histories lives through together.

use fastrand::Rng;
use tollgate_core::{Burst, Cost, Limit, Rate, Span};
use tollgate_redis::{Reply, Script, SharedLimit};

use crate::support::{Connection, Engine, Server};

/// Histories that share a clock, and so one call for each of its ticks.
pub(crate) const GROUP: usize = 50;
/// Ticks of a group.
pub(crate) const TICKS: usize = 12;
const HOUR: u64 = 3_600_000_000;

/// How fast things happen in one group: about so many microseconds for a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(u64);

impl Pace {
    /// From a microsecond to a day.
    pub(crate) fn any(rng: &mut Rng) -> Pace {
        Pace([1, 10, 1_000, 50_000, 1_000_000, 60_000_000, HOUR, 24 * HOUR][rng.usize(..8)])
    }

    /// A limit of about this pace that the server can keep.
    pub(crate) fn limit(self, rng: &mut Rng) -> Limit {
        loop {
            let tokens = [1, 1, 2, 3, 7, 10, 100, 333, 1_000, 999_983][rng.usize(..10)];
            let times = [tokens, tokens, tokens, rng.u64(1..=2 * tokens)][rng.usize(..4)];
            let Some(nanos) = (self.0 * 1_000).checked_mul(times).filter(|nanos| *nanos < 1 << 62) else {
                continue;
            };
            let odd = [0, 0, 0, rng.u64(..1_000), rng.u64(..nanos)][rng.usize(..5)];
            let rate = Rate::new(tokens, Span::from_nanos(nanos + odd));
            let burst = [
                Burst::micros(rng.u64(1..2_000_000)),
                Burst::tokens(1),
                Burst::tokens(5),
                Burst::tokens(rng.u64(1..100)),
                Burst::tokens(2_000),
                Burst::tokens(4_000_000_000),
            ][rng.usize(..6)];
            if let Ok(limit) = Limit::new(rate, burst)
                && SharedLimit::explicit(&limit).is_ok()
            {
                return limit;
            }
        }
    }

    /// The next moment after `now`; back by more than a little only if nothing forbids it.
    pub(crate) fn tick(self, rng: &mut Rng, now: u64, not_before: u64) -> u64 {
        let token = self.0;
        let next = match rng.u32(..16) {
            0 | 1 => now,
            2 | 3 => now + 1,
            4 => now + rng.u64(..1_000),
            5..=8 => now + rng.u64(..2 * token + 2),
            9 | 10 => now + rng.u64(..20 * token),
            11 => now + rng.u64(..3_000 * token),
            12 => now - rng.u64(..2_000),
            13 => now - rng.u64(..1_500_000),
            14 => now - rng.u64(..5 * HOUR),
            _ => now + rng.u64(..5 * HOUR),
        };
        next.clamp(not_before, 1 << 52)
    }

    /// When a group begins.
    pub(crate) fn begin(rng: &mut Rng) -> u64 {
        1_700_000_000_000_000 + rng.u64(..1_000_000_000_000_000)
    }
}

/// What is asked of a bucket with this limit; seldom more than it can ever hold.
pub(crate) fn cost(rng: &mut Rng, limit: &Limit) -> Cost {
    let burst = limit.burst().as_micros();
    Cost::micros(match rng.u32(..12) {
        0..=3 => 1_000_000,
        4 => 2_000_000,
        5 => 500_000,
        6 => 1,
        7 => burst,
        8 => burst + 1,
        9 => burst / 2 + 1,
        _ => rng.u64(1..=burst),
    })
}

/// Nanoseconds as the server waits for them: whole microseconds, rounded up.
pub(crate) fn in_micros(wait: Span) -> u64 {
    wait.as_nanos().div_ceil(1_000)
}

/// How many histories a server lives through: the oldest is there to see that it understands the script, not for its arithmetic.
pub(crate) fn histories_on(engine: Engine, histories: usize) -> usize {
    if engine == Engine::Redis62 { histories / 10 } else { histories }
}

/// A server that knows the script, and a connection to it.
pub(crate) fn ready(engine: Engine) -> (Server, Connection) {
    let server = Server::start(engine, "");
    let mut connection = server.connect();
    let digest = Reply::Bytes(Script::decide().sha().as_bytes().to_vec());
    assert_eq!(connection.ask(&["SCRIPT", "LOAD", Script::decide().text()]), digest);
    (server, connection)
}
