//! Waiting for tokens: what an acquire costs in processor time, and how fair the wait is.
//!
//! A thousand tasks of one thread acquire from one bucket, once with tokens for all and once with none for anybody but the
//! first. Processor time, since wall time is the limiter's own doing here. The peers are those that can be awaited.

mod gates;
mod run;

use self::gates::{Governor, LeakyBucket, Tollgate};
use self::run::{Round, round};
use super::results::{CaseResult, Comparison, Figure, Row, Spread};
use crate::options::Options;

/// Tasks that acquire at the same time.
const TASKS: u32 = 1_000;
/// Acquires of each task where nobody waits: enough that spawning the tasks does not count.
const ACQUIRES_FREE: u32 = 1_000;
/// Tokens per second where all wait: the last one waits a tenth of a second.
const WAITING_PER_SECOND: u32 = 10_000;
const ROUNDS: u32 = 9;

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
    let rounds = if options.quick { 1 } else { ROUNDS };
    let tasks = options.scaled(TASKS);
    let run = |turn: u32| match (turn % 3, case) {
        (0, AcquireCase::Free) => round(Tollgate::free(), tasks, ACQUIRES_FREE),
        (1, AcquireCase::Free) => round(Governor::free(), tasks, ACQUIRES_FREE),
        (_, AcquireCase::Free) => round(LeakyBucket::free(), tasks, ACQUIRES_FREE),
        (0, AcquireCase::Waiting) => round(Tollgate::slow(WAITING_PER_SECOND), tasks, 1),
        (1, AcquireCase::Waiting) => round(Governor::slow(WAITING_PER_SECOND), tasks, 1),
        (_, AcquireCase::Waiting) => round(LeakyBucket::slow(WAITING_PER_SECOND), tasks, 1),
    };
    let mut done: [Vec<Round>; 3] = Default::default();
    // One round to warm up; and another one begins each time, so that nobody always follows the same neighbour.
    for number in 0..=rounds {
        for turn in 0..3 {
            let who = (number + turn) % 3;
            let round = run(who);
            if number > 0 || rounds == 1 {
                done[who as usize].push(round);
            }
        }
    }
    let rows = ["tollgate", "governor", "leaky_bucket"].into_iter().zip(done);
    let rows = rows.map(|(subject, rounds)| Row { subject, figure: figure(case, &rounds) }).collect();
    CaseResult { case: case.name().to_owned(), rows, comparison: Comparison::GainOverGovernor }
}

fn figure(case: AcquireCase, rounds: &[Round]) -> Figure {
    let cpu_ns = Spread::of(rounds.iter().map(Round::nanos_per_acquire).collect());
    let worst_wait = (case == AcquireCase::Waiting)
        .then(|| Spread::of(rounds.iter().map(|round| round.worst_wait(WAITING_PER_SECOND)).collect()));
    Figure::Acquire { cpu_ns, worst_wait }
}
