//! One client: what it asks, how often, and whether it listens.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use tokio::time::sleep;

use super::line::Line;
use super::tally::{Kind, Tally, Told};

/// How long a client whose connection failed waits before the next.
const AFTER_A_FAULT: Duration = Duration::from_millis(250);

/// Somebody who asks.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) kind: Kind,
    pub(super) pace: Pace,
    /// What it asks, one after the other, over and over. Not empty.
    pub(super) questions: Vec<Bytes>,
}

/// How often a client asks. What is said of a time is its mean: every pause is between half and one and a half of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    /// One at a time, this often.
    Even(Duration),
    /// So many at once, then nothing for a while.
    Bursts(u32, Duration),
    /// One at a time, this often, for a while; then nothing for a while.
    Raids { every: Duration, count: u32, rest: Duration },
    /// As many visitors as the hour brings: so many per second, each for a few seconds.
    Tide(&'static [u32]),
}

/// How long each part of a tide lasts.
const TIDE_SECONDS: u32 = 5;

impl Client {
    /// Asks until whoever waits for it has seen enough.
    pub(super) async fn run(self, address: String, seed: u64, tally: Rc<RefCell<Tally>>) {
        let mut line = Line::to(&address);
        let mut rng = Rng::with_seed(seed);
        // Not all at once.
        sleep(some(Duration::from_secs(1), &mut rng)).await;
        for asked in 0_usize.. {
            let pause = self.pace.pause_before(asked);
            if !pause.is_zero() {
                sleep(some(pause, &mut rng)).await;
            }
            let Some(question) = self.questions.get(asked % self.questions.len()) else { return };
            let Ok(answer) = line.ask(question).await else {
                sleep(AFTER_A_FAULT).await;
                continue;
            };
            tally.borrow_mut().note(self.kind, answer.told);
            if self.kind == Kind::Polite
                && answer.told == Told::Denied
                && let Some(wait) = answer.retry_after
            {
                sleep(wait).await;
            }
        }
    }
}

impl Pace {
    /// How long to wait, on average, before the request of this number.
    fn pause_before(self, asked: usize) -> Duration {
        // The first ones come at once.
        let is_first_of =
            |count: u32| asked > 0 && asked.is_multiple_of(usize::try_from(count.max(1)).unwrap_or(1));
        match self {
            Pace::Even(every) => every,
            Pace::Bursts(count, rest) => {
                if is_first_of(count) {
                    rest
                } else {
                    Duration::ZERO
                }
            }
            Pace::Raids { every, count, rest } => {
                if is_first_of(count) {
                    rest
                } else {
                    every
                }
            }
            Pace::Tide(per_second) => Duration::from_secs(1) / tide(per_second, asked),
        }
    }
}

/// How many come per second when so many have come.
fn tide(per_second: &[u32], asked: usize) -> u32 {
    let in_part = |rate: u32| usize::try_from(rate.max(1) * TIDE_SECONDS).unwrap_or(usize::MAX);
    let all: usize = per_second.iter().map(|&rate| in_part(rate)).sum();
    let mut left = asked.checked_rem(all).unwrap_or(0);
    for &rate in per_second {
        match left.checked_sub(in_part(rate)) {
            Some(rest) => left = rest,
            None => return rate.max(1),
        }
    }
    1
}

/// Between half and one and a half of a time.
fn some(time: Duration, rng: &mut Rng) -> Duration {
    time / 2 + time * rng.u32(..1_000) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tide_comes_and_goes() {
        let rates = [2, 6];
        assert_eq!((0..=41).map(|asked| tide(&rates, asked)).collect::<Vec<_>>(), {
            let mut expected = vec![2; 10];
            expected.extend([6; 30]);
            expected.extend([2; 2]);
            expected
        });
    }

    #[test]
    fn a_burst_comes_without_a_pause_and_is_followed_by_one() {
        let rest = Duration::from_secs(8);
        let pauses: Vec<_> = (0..7).map(|asked| Pace::Bursts(3, rest).pause_before(asked)).collect();
        let none = Duration::ZERO;
        assert_eq!(pauses, [none, none, none, rest, none, none, rest]);
    }

    #[test]
    fn pauses_differ_around_their_mean() {
        let mut rng = Rng::with_seed(1);
        let second = Duration::from_secs(1);
        let pauses: Vec<_> = (0..1_000).map(|_| some(second, &mut rng)).collect();
        assert!(pauses.iter().all(|&pause| pause >= second / 2 && pause < second * 3 / 2));
        let mean = pauses.iter().sum::<Duration>() / 1_000;
        assert!(mean > second * 9 / 10 && mean < second * 11 / 10, "{mean:?}");
    }
}
