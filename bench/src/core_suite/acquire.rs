//! Waiting for tokens: what an acquire costs in processor time, and how fair the wait is.
//!
//! A thousand tasks of one thread acquire from one bucket, once with tokens for all and once with none for anybody but the
//! first. Processor time, since wall time is the limiter's own doing here. The peers are those that can be awaited.

mod gates;
mod run;

use std::sync::Arc;

use self::gates::{Governor, LeakyBucket, Tollgate};
use self::run::{Gate, Round, round};
use super::results::{CaseResult, Comparison, Figure, Row, Spread};
use crate::options::Options;

/// Tasks that acquire at the same time.
const TASKS: u32 = 1_000;
/// Acquires of each task where nobody waits: enough that spawning the tasks does not count.
const ACQUIRES_FREE: u32 = 1_000;
/// Tokens per second where all wait: the last one waits a tenth of a second.
const WAITING_PER_SECOND: u32 = 10_000;
const ROUNDS_FREE: u32 = 15;
/// More where all wait: their rounds are short, and mostly the kernel's timers, whose cost comes and goes.
const ROUNDS_WAITING: u32 = 48;
/// Who runs when in a round. Everybody follows everybody else as often: a round costs less processor time where its neighbour
/// before has kept the core awake.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 2, 0], [1, 0, 2], [2, 0, 1], [2, 1, 0]];

/// What is acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcquireCase {
    /// There are tokens for everybody.
    Free,
    /// There is one token; everybody else waits for its own.
    Waiting,
}

impl AcquireCase {
    pub(crate) const ALL: [AcquireCase; 2] = [Self::Free, Self::Waiting];

    /// Relied on by other people's scripts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Free => "acquire/free/1000",
            Self::Waiting => "acquire/waiting/1000",
        }
    }
}

/// Runs Tollgate and the peers in turn, round by round.
pub(crate) fn measure(case: AcquireCase, options: &Options) -> CaseResult {
    eprintln!("core: {}", case.name());
    let tasks = options.scaled(TASKS);
    let done = match case {
        AcquireCase::Free => {
            let gates = (Tollgate::free(), Governor::free(), LeakyBucket::free());
            in_turn(gates, options, tasks, ACQUIRES_FREE, ROUNDS_FREE)
        }
        AcquireCase::Waiting => {
            let rate = WAITING_PER_SECOND;
            let gates = (Tollgate::slow(rate), Governor::slow(rate), LeakyBucket::slow(rate));
            in_turn(gates, options, tasks, 1, ROUNDS_WAITING)
        }
    };
    let rows = ["tollgate", "governor", "leaky_bucket"].into_iter().zip(done);
    let rows = rows.map(|(subject, rounds)| Row { subject, figure: figure(case, &rounds) }).collect();
    CaseResult { case: case.name().to_owned(), rows, comparison: Comparison::GainOverGovernor }
}

/// The rounds of each of three limiters, which are made once and kept, as programs do.
fn in_turn(
    gates: (impl Gate, impl Gate, impl Gate),
    options: &Options,
    tasks: u32,
    times: u32,
    rounds: u32,
) -> [Vec<Round>; 3] {
    let gates = (Arc::new(gates.0), Arc::new(gates.1), Arc::new(gates.2));
    let (mut done, rounds): ([Vec<Round>; 3], _) =
        (Default::default(), if options.quick { 1 } else { rounds });
    // One round to warm up.
    for (number, order) in (0..=rounds).zip(ORDERS.into_iter().cycle()) {
        for who in order {
            let round = match who {
                0 => round(&gates.0, tasks, times),
                1 => round(&gates.1, tasks, times),
                _ => round(&gates.2, tasks, times),
            };
            if number > 0 {
                done[who].push(round);
            }
        }
    }
    done
}

fn figure(case: AcquireCase, rounds: &[Round]) -> Figure {
    let cpu_ns = Spread::of(rounds.iter().map(Round::nanos_per_acquire).collect());
    let worst_wait = (case == AcquireCase::Waiting)
        .then(|| Spread::of(rounds.iter().map(|round| round.worst_wait(WAITING_PER_SECOND)).collect()));
    Figure::Acquire { cpu_ns, worst_wait }
}
