//! Rounds: every contender runs the whole stream once per round, one after the other, so that a disturbance of the
//! machine hits all alike. Refuses rounds whose verdicts are not the expected ones; knows no names of cases.

use std::iter;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::case::Mode;
use super::results::{Figure, Row, Spread};
use super::subject::Subject;
use crate::core_wait;
use crate::problem::Problem;
use crate::stopwatch::Lap;

/// Part of the stream that warms a contender up before its rounds.
const WARM_UP_DIVISOR: usize = 4;
/// Checks that one of several threads takes from the stream at once: few, so that a thread that lost its core for a while leaves the rest to the others,
/// as those of a service do, and even, so that every second one is a half of them. A single thread takes all at once.
const PIECE_CHECKS: usize = 4_096;
/// A share of admissions that still counts as all: a crowded table may deny a few.
const ADMITTED_SHARE_MIN: f64 = 0.99;

/// Who runs, under which name.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    pub(crate) subject: &'a dyn Subject,
}

/// What each contender does.
pub(crate) struct Plan<'a> {
    pub(crate) stream: &'a [String],
    pub(crate) threads: u32,
    pub(crate) mode: Mode,
    pub(crate) rounds: u32,
    pub(crate) expected: Expected,
}

/// The verdict that all checks should get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Admitted,
    Denied,
    /// Every second one is admitted, the others are denied.
    Half,
}

/// What one contender did in one round.
pub(crate) struct Round {
    /// Wall time × threads.
    spent: Duration,
    /// Part of it in which a thread had no core.
    waited: Duration,
    admitted: u64,
}

/// Warms up each contender, then measures all of them round by round.
pub(crate) fn run(contenders: &[Contender<'_>], plan: &Plan<'_>) -> Result<Vec<Row>, Problem> {
    summaries(contenders, &measured(contenders, plan), plan)
}

/// The rounds of each contender, in their order.
pub(crate) fn measured(contenders: &[Contender<'_>], plan: &Plan<'_>) -> Vec<Vec<Round>> {
    let warm_up = plan.stream.len().div_ceil(WARM_UP_DIVISOR);
    for contender in contenders {
        round(contender.subject, &Plan { stream: &plan.stream[..warm_up], ..*plan });
    }
    let mut rounds: Vec<Vec<Round>> = contenders.iter().map(|_| Vec::new()).collect();
    for number in 0..plan.rounds as usize {
        // Another one begins each round: nobody always follows the same neighbour's cache misses.
        for turn in 0..contenders.len() {
            let at = (number + turn) % contenders.len();
            rounds[at].push(round(contenders[at].subject, plan));
        }
    }
    rounds
}

/// A row for each contender.
pub(crate) fn summaries(
    contenders: &[Contender<'_>],
    rounds: &[Vec<Round>],
    plan: &Plan<'_>,
) -> Result<Vec<Row>, Problem> {
    contenders.iter().zip(rounds).map(|(contender, rounds)| summary(contender.name, rounds, plan)).collect()
}

/// How many times as much one contender does in the time of another, round by round: whatever slows the machine down for longer than a round slows both.
pub(crate) fn speed_beside(rounds: &[Round], beside: &[Round]) -> Spread {
    let ratio = |(round, beside): (&Round, &Round)| beside.spent.as_secs_f64() / round.spent.as_secs_f64();
    Spread::of(rounds.iter().zip(beside).map(ratio).collect())
}

/// The threads start together and take the stream piece by piece until nothing is left.
fn round(subject: &dyn Subject, plan: &Plan<'_>) -> Round {
    let piece = if plan.threads == 1 { plan.stream.len().max(1) } else { PIECE_CHECKS };
    let pieces: Vec<&[String]> = plan.stream.chunks(piece).collect();
    let taken = AtomicUsize::new(0);
    let start = Barrier::new(plan.threads as usize);
    let take = || pieces.get(taken.fetch_add(1, Ordering::Relaxed));
    let check = |piece: &&[String]| match plan.mode {
        Mode::Single => subject.check_stream(piece),
        Mode::Batch16 => subject.check_batches(piece),
    };
    let work = || {
        start.wait();
        let waited_before = core_wait::nanos_so_far();
        let (lap, admitted) = Lap::of(|| iter::from_fn(take).map(check).sum::<u64>());
        let waited = core_wait::nanos_so_far().zip(waited_before).map_or(0, |(after, before)| after - before);
        (lap, (Duration::from_nanos(waited), admitted))
    };
    let done: Vec<(Lap, (Duration, u64))> = thread::scope(|scope| {
        let running: Vec<_> = (0..plan.threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("a subject panicked")).collect()
    });
    subject.settle();
    let (laps, counts): (Vec<Lap>, Vec<(Duration, u64)>) = done.into_iter().unzip();
    Round {
        spent: Lap::span(&laps).unwrap_or_default() * plan.threads,
        waited: counts.iter().map(|(waited, _)| waited).sum(),
        admitted: counts.iter().map(|(_, admitted)| admitted).sum(),
    }
}

fn summary(subject: &'static str, rounds: &[Round], plan: &Plan<'_>) -> Result<Row, Problem> {
    let admitted: u64 = rounds.iter().map(|round| round.admitted).sum();
    let checks = plan.stream.len() as u64 * rounds.len() as u64;
    let admitted_share = share(admitted, checks);
    let as_expected = match plan.expected {
        Expected::Admitted => admitted_share >= ADMITTED_SHARE_MIN,
        Expected::Denied => admitted == 0,
        Expected::Half => (admitted_share - 0.5).abs() <= 1.0 - ADMITTED_SHARE_MIN,
    };
    if !as_expected {
        return Err(Problem::failed(format!(
            "{subject} admitted {admitted} of {checks} checks where all should be {:?}; the figures would compare \
             different work, so mend its file in bench/src/core_suite/subjects",
            plan.expected
        )));
    }
    let round_checks = u32::try_from(plan.stream.len()).expect("a stream is made from a u32");
    let ns_per_check = |round: &Round| round.spent.as_secs_f64() * 1e9 / f64::from(round_checks);
    let ns = Spread::of(rounds.iter().map(ns_per_check).collect());
    let waited: Duration = rounds.iter().map(|round| round.waited).sum();
    let spent: Duration = rounds.iter().map(|round| round.spent).sum();
    let wait_share = waited.as_secs_f64() / spent.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(Row { subject, figure: Figure::Speed { ns, admitted_share, wait_share } })
}

/// `part` ÷ `whole`, to six digits.
fn share(part: u64, whole: u64) -> f64 {
    let millionths = (u128::from(part) * 1_000_000).checked_div(u128::from(whole)).unwrap_or(0);
    f64::from(u32::try_from(millionths).unwrap_or(u32::MAX)) / 1e6
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::{
        Contender, Duration, Expected, Mode, Plan, Round, Spread, Subject, run, share, speed_beside,
    };

    /// Admits everything and counts it.
    #[derive(Default)]
    struct Open(AtomicU64);

    impl Subject for Open {
        fn check_stream(&self, keys: &[String]) -> u64 {
            self.0.fetch_add(keys.len() as u64, Relaxed);
            keys.len() as u64
        }
    }

    fn run_on(open: &Open, threads: u32, expected: Expected) -> Result<usize, String> {
        let stream = vec!["user:0".to_owned(); 10_001];
        let plan = Plan { stream: &stream, threads, mode: Mode::Single, rounds: 5, expected };
        let rows = run(&[Contender { name: "open", subject: open }], &plan);
        rows.map(|rows| rows.len()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn the_threads_share_the_stream_and_leave_nothing_out() {
        for threads in [1, 2, 3] {
            let open = Open::default();
            assert_eq!(run_on(&open, threads, Expected::Admitted), Ok(1));
            assert_eq!(open.0.into_inner(), 2_501 + 5 * 10_001, "a quarter to warm up, then five rounds");
        }
    }

    #[test]
    fn verdicts_that_were_not_expected_make_no_figure() {
        let message = run_on(&Open::default(), 1, Expected::Denied).unwrap_err();
        assert!(
            message.starts_with("open admitted 50005 of 50005 checks where all should be Denied"),
            "{message}"
        );
    }

    #[test]
    fn contenders_are_compared_round_by_round() {
        let round = |ms| Round { spent: Duration::from_millis(ms), waited: Duration::ZERO, admitted: 0 };
        let (slow, fast) = ([round(20), round(400), round(40)], [round(10), round(100), round(20)]);
        assert_eq!(speed_beside(&slow, &fast), Spread { median: 0.5, min: 0.25, max: 0.5 });
    }

    #[test]
    fn a_share_is_exact_where_it_matters() {
        assert!((share(1, 2) - 0.5).abs() < 1e-9);
        assert!((share(0, 0)).abs() < 1e-9);
    }
}
