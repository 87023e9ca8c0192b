//! The limits that a rule has had, as all nodes see them: the one in force, up to four before it, and what is left of older ones.
//!
//! A bucket that was last charged under an earlier limit is carried through those since, each for its own time, exactly as a meter of
//! `tollgate-core` does that lived through the changes. Of limits further back only the lowest rate is kept: what a bucket
//! minted then is understated, never overstated.

use std::fmt;

use tollgate_core::{Algorithm, Burst, Limit, Moment, Rate, Ruler, Start};

use crate::terms::Terms;
use crate::told::CURE_OF_KEYS;
use crate::{LimitRefused, SCRIPT_VERSION, SharedLimit};

/// How many limits before the one in force are known in full.
pub const PAST_LIMITS_MAX: usize = 4;

/// After so many times as long as an empty bucket is kept, one that was in debt by a burst is gone, too: debts are kept sixteenfold.
const SETTLED_TIMES: u64 = 33;

/// What a node says a rule's limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared {
    /// The limit and its algorithm.
    pub algorithm: Algorithm,
    /// The lowest rate that the rule may ever take, where that is known: buckets are kept until they would be full by it, so that
    /// none is forgotten too early when the rate falls. Without it, the rate itself.
    pub slowest: Option<Rate>,
}

/// All that is known of a rule's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitHistory {
    /// Newest first; from 1 to 1 + [`PAST_LIMITS_MAX`].
    pub(crate) segments: Vec<Segment>,
    /// What was before them.
    pub(crate) forgotten: Option<Forgotten>,
}

/// One limit, from the base of its ruler on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) ruler: Ruler,
    /// By which rate keys are kept, as micro-tokens per nanoseconds; `None` where time to full is no matter of a rate.
    pub(crate) slow: Option<SlowRates>,
}

/// By which rates keys are kept, each as micro-tokens every so many nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlowRates {
    /// From now on.
    pub(crate) now: [u64; 2],
    /// The fastest that any key of this limit was kept by.
    pub(crate) fastest: [u64; 2],
}

/// Bounds on limits that are no longer known one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forgotten {
    pub(crate) lowest: [u64; 2],
    /// Micro-tokens.
    pub(crate) burst: u64,
    pub(crate) fastest_kept: [u64; 2],
    /// How long an empty bucket was kept at the most, in microseconds.
    kept_micros: u64,
}

/// Why a limit is not declared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryError {
    /// It cannot be kept exactly on the server.
    Refused(LimitRefused),
    /// Another algorithm, another sliding window or timeout: the rule's buckets would mean nothing.
    OtherKind {
        /// What the rule's buckets are.
        was: &'static str,
        /// What was declared.
        declared: &'static str,
    },
    /// What is stored of the rule's limits was written by another version of this program.
    OtherVersion {
        /// Which, as the record says.
        version: String,
    },
    /// What is stored of the rule's limits was not written by this program.
    BadRecord,
}

impl LimitHistory {
    /// A rule that is declared for the first time, at `now` in microseconds since 1970.
    pub fn new(declared: &Declared, now_micros: u64) -> Result<LimitHistory, HistoryError> {
        let slow = accept(declared)?;
        let start = Start { now: moment(now_micros), offset: 0, origin: 0 };
        let ruler = Ruler::new(declared.algorithm, start);
        let slow = slow.map(|now| SlowRates { now, fastest: now });
        Ok(LimitHistory { segments: vec![Segment { ruler, slow }], forgotten: None })
    }

    /// The history after another limit is declared at `now`; `None` if it is the one in force.
    pub fn change(&self, declared: &Declared, now_micros: u64) -> Result<Option<LimitHistory>, HistoryError> {
        let slow = accept(declared)?;
        let Some(head) = self.segments.first() else { return Err(HistoryError::BadRecord) };
        let was = head.ruler.algorithm();
        if was == declared.algorithm && head.slow.map(|slow| slow.now) == slow {
            return Ok(None);
        }
        // Each limit holds for a microsecond at least, so that no stamp lies on both sides of one.
        let from =
            if head.ruler.meter().is_some() { now_micros.max(head.base_micros() + 1) } else { now_micros };
        let ruler = head.ruler.change(declared.algorithm, moment(from));
        let other = HistoryError::OtherKind { was: was.name(), declared: declared.algorithm.name() };
        let ruler = ruler.ok_or(other)?;
        // A counter keeps its steps, so that its limit need not be word for word the one that was declared.
        if ruler == head.ruler && head.slow.map(|slow| slow.now) == slow {
            return Ok(None);
        }
        let mut next = self.clone();
        if ruler == head.ruler || ruler.meter().is_none() {
            // The same limit, kept for longer or shorter; or words that know their time by themselves.
            let slow =
                slow.map(|now| SlowRates { now, fastest: faster(now, head.slow.map(|slow| slow.fastest)) });
            next.segments[0] = Segment { ruler, slow };
            return Ok(Some(next));
        }
        next.segments.insert(0, Segment { ruler, slow: slow.map(|now| SlowRates { now, fastest: now }) });
        if next.segments.len() > 1 + PAST_LIMITS_MAX
            && let Some(oldest) = next.segments.pop()
        {
            next.forgotten = Some(Forgotten::with(self.forgotten, &oldest));
        }
        Ok(Some(next))
    }

    /// The limit in force.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.segments.first().map(|segment| segment.ruler.algorithm())
    }

    /// When it came into force, in microseconds since 1970; 0 where that does not matter.
    pub fn since_micros(&self) -> u64 {
        self.segments.first().map_or(0, Segment::base_micros)
    }

    /// The limit in force as checks use it, with all that came before.
    pub fn limit(&self) -> Result<SharedLimit, LimitRefused> {
        SharedLimit::of_rule(self, 0)
    }

    /// The same once the server's clock has shown `now`: long after the last change, earlier limits do not matter any more, and a check is
    /// decided in half the time.
    pub fn limit_at(&self, now_micros: u64) -> Result<SharedLimit, LimitRefused> {
        SharedLimit::of_rule(self, now_micros)
    }

    /// Whether every bucket that was last charged under an earlier limit would be full by now, and is gone.
    pub(crate) fn is_settled(&self, now_micros: u64) -> bool {
        if self.segments.len() == 1 && self.forgotten.is_none() {
            return true;
        }
        let kept = self.segments.iter().map(Segment::kept_micros).max().unwrap_or(u64::MAX);
        let kept = self.forgotten.map_or(kept, |forgotten| forgotten.kept_micros.max(kept));
        now_micros > self.since_micros().saturating_add(kept.saturating_mul(SETTLED_TIMES))
    }

    /// The history as it is stored.
    pub(crate) fn lines(&self) -> String {
        let mut lines = String::new();
        for segment in &self.segments {
            let [now, fastest] = segment.slow.map_or([[0; 2]; 2], |slow| [slow.now, slow.fastest]);
            push_line(&mut lines, 's', segment.ruler.words().into_iter().chain(now).chain(fastest));
        }
        if let Some(Forgotten { lowest, burst, fastest_kept, kept_micros }) = self.forgotten {
            let words = lowest.into_iter().chain([burst]).chain(fastest_kept).chain([kept_micros]);
            push_line(&mut lines, 'f', words);
        }
        lines
    }

    /// The history that was stored as these lines.
    pub(crate) fn parse(lines: &str) -> Result<LimitHistory, HistoryError> {
        let (mut segments, mut forgotten) = (Vec::new(), None);
        for line in lines.lines() {
            let (mark, rest) = line.split_once(' ').ok_or(HistoryError::BadRecord)?;
            let words: Result<Vec<u64>, _> = rest.split(' ').map(str::parse).collect();
            let words = words.map_err(|_| HistoryError::BadRecord)?;
            match mark {
                "s" if segments.len() <= PAST_LIMITS_MAX && forgotten.is_none() => {
                    segments.push(Segment::parse(&words).ok_or(HistoryError::BadRecord)?);
                }
                "f" => forgotten = Some(Forgotten::parse(&words).ok_or(HistoryError::BadRecord)?),
                _ => return Err(HistoryError::BadRecord),
            }
        }
        if segments.is_empty() {
            Err(HistoryError::BadRecord)
        } else {
            Ok(LimitHistory { segments, forgotten })
        }
    }
}

impl Segment {
    /// How long an empty bucket is kept, about.
    fn kept_micros(&self) -> u64 {
        let ([num, den, burst, ..], slow) = (self.ruler.words(), self.slow);
        let [num, den] = slow.map_or([num, den], |slow| slow.now);
        let nanos = u128::from(burst) * u128::from(den) / u128::from(num.max(1));
        u64::try_from(nanos / 1_000).unwrap_or(u64::MAX).saturating_add(2_000_000)
    }

    /// Since when it holds.
    pub(crate) fn base_micros(&self) -> u64 {
        if self.ruler.meter().is_none() { 0 } else { self.ruler.words()[4] / 1_000 }
    }

    fn parse(words: &[u64]) -> Option<Segment> {
        let (ruler, slow) = words.split_at_checked(Ruler::WORDS)?;
        let ruler = Ruler::try_from_words(ruler.try_into().ok()?)?;
        let slow = match *slow {
            [0, 0, 0, 0] => None,
            [a, b, c, d] => Some(SlowRates { now: sound([a, b])?, fastest: sound([c, d])? }),
            _ => return None,
        };
        Some(Segment { ruler, slow })
    }
}

impl Forgotten {
    fn with(before: Option<Forgotten>, oldest: &Segment) -> Forgotten {
        let [num, den, burst, ..] = oldest.ruler.words();
        let fastest = oldest.slow.map_or([num, den], |slow| slow.fastest);
        let kept_micros = oldest.kept_micros();
        let new = Forgotten { lowest: [num, den], burst, fastest_kept: fastest, kept_micros };
        before.map_or(new, |before| Forgotten {
            lowest: if is_below([num, den], before.lowest) { [num, den] } else { before.lowest },
            burst: burst.min(before.burst),
            fastest_kept: faster(fastest, Some(before.fastest_kept)),
            kept_micros: kept_micros.max(before.kept_micros),
        })
    }

    fn parse(words: &[u64]) -> Option<Forgotten> {
        let [a, b, burst, c, d, kept_micros] = *words else { return None };
        Some(Forgotten { lowest: sound([a, b])?, burst, fastest_kept: sound([c, d])?, kept_micros })
    }
}

/// Refuses a limit that the server cannot keep exactly; by which rate its keys are kept.
fn accept(declared: &Declared) -> Result<Option<[u64; 2]>, HistoryError> {
    SharedLimit::accept(&declared.algorithm).map_err(HistoryError::Refused)?;
    let limit = match declared.algorithm {
        Algorithm::TokenBucket(limit) => limit,
        Algorithm::LeakyBucket(leaky) => leaky.limit(),
        _ => return Ok(None),
    };
    let [num, den, burst] = limit.terms();
    let Some(slowest) = declared.slowest else { return Ok(Some([num, den])) };
    let slowest = Limit::new(slowest, Burst::micros(1))
        .map_err(|_| HistoryError::Refused(LimitRefused::SlowestIsFaster))?;
    let [slow_num, slow_den, _] = slowest.terms();
    let terms = Terms::new(slow_num, slow_den).map_err(HistoryError::Refused)?;
    terms.accept_burst(tollgate_core::Tokens::from_micros(burst)).map_err(HistoryError::Refused)?;
    if is_below([num, den], [slow_num, slow_den]) {
        return Err(HistoryError::Refused(LimitRefused::SlowestIsFaster));
    }
    Ok(Some([slow_num, slow_den]))
}

/// Whether one rate is below another, each micro-tokens per nanoseconds.
pub(crate) fn is_below([num, den]: [u64; 2], [other_num, other_den]: [u64; 2]) -> bool {
    u128::from(num) * u128::from(other_den) < u128::from(other_num) * u128::from(den)
}

fn faster(one: [u64; 2], other: Option<[u64; 2]>) -> [u64; 2] {
    other.filter(|other| is_below(one, *other)).unwrap_or(one)
}

/// A rate that the script can count by.
fn sound([num, den]: [u64; 2]) -> Option<[u64; 2]> {
    Terms::new(num, den).ok().map(|_| [num, den])
}

fn moment(micros: u64) -> Moment {
    Moment::from_nanos(micros.saturating_mul(1_000))
}

fn push_line(lines: &mut String, mark: char, words: impl Iterator<Item = u64>) {
    lines.push(mark);
    for word in words {
        lines.push(' ');
        lines.push_str(&word.to_string());
    }
    lines.push('\n');
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::OtherKind { was, declared } => write!(
                f,
                "`algorithm` is {declared}, and the rule's buckets in the shared store are of {was}, or of another window, timeout or \
                 step; give the rule another name"
            ),
            Self::OtherVersion { version } => write!(
                f,
                "the shared store holds the rule's limits in version {version} of the contract, and this release speaks {SCRIPT_VERSION}; run \
                 releases that are adjacent, or give this one a database of its own, as in redis://host/1 (in a cluster another `store.hash_tag`)"
            ),
            Self::BadRecord => write!(
                f,
                "what the shared store holds of the rule's limits was not written by this release; {CURE_OF_KEYS}"
            ),
        }
    }
}

impl std::error::Error for HistoryError {}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Concurrency, FixedWindow, LeakyBucket, SlidingCounter, SlidingLog, Span, Window};

    fn bucket(per_second: u64, burst: u64) -> Declared {
        let limit = Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap();
        Declared { algorithm: limit.into(), slowest: None }
    }

    #[test]
    fn a_limit_that_is_declared_again_changes_nothing() {
        let history = LimitHistory::new(&bucket(10, 50), 1_000).unwrap();
        assert_eq!(history.change(&bucket(10, 50), 2_000), Ok(None));
    }

    /// A counter keeps its steps when its quota changes: the one in force is not word for word the one that was declared.
    #[test]
    fn another_quota_of_a_sliding_counter_is_agreed_upon() {
        let quota = |micros| Declared {
            algorithm: SlidingCounter::new(Burst::micros(micros), Span::from_secs(60)).unwrap().into(),
            slowest: None,
        };
        let history = LimitHistory::new(&quota(98_765_432), 1_000).unwrap();
        let changed = history.change(&quota(231_119), 2_000).unwrap().unwrap();
        assert_eq!(changed.change(&quota(231_119), 3_000), Ok(None));
        assert_eq!(changed.change(&quota(98_765_432), 3_000), Ok(Some(history)));
    }

    #[test]
    fn four_limits_before_the_one_in_force_are_known_and_bounds_on_older_ones() {
        let mut history = LimitHistory::new(&bucket(3, 5), 0).unwrap();
        for change in 1..10 {
            history = history.change(&bucket(10 + change, 50 - change), change * 1_000_000).unwrap().unwrap();
        }
        assert_eq!(history.segments.len(), 5);
        assert_eq!(history.since_micros(), 9_000_000);
        let forgotten = history.forgotten.unwrap();
        assert_eq!((forgotten.lowest, forgotten.burst), ([3, 1_000], 5_000_000));
        assert_eq!(LimitHistory::parse(&history.lines()), Ok(history));
    }

    #[test]
    fn long_after_the_last_change_a_limit_is_as_short_as_one_that_never_changed() {
        let mut history = LimitHistory::new(&bucket(3, 5), 0).unwrap();
        assert_eq!(history.limit().unwrap().words()[0], "b");
        for change in 1..10 {
            history = history.change(&bucket(10, 50 - change), change * 1_000_000).unwrap().unwrap();
        }
        let words = |now| history.limit_at(now).unwrap().words()[0].clone();
        assert_eq!(history.limit().unwrap().words()[0], "j");
        assert_eq!((words(9_000_000), words(60_000_000)), ("j".to_owned(), "j".to_owned()));
        assert_eq!(words(9_000_000 + 33 * 7_000_000 + 1), "b", "49 tokens at 10 per second are kept for 7 s");
    }

    #[test]
    fn every_algorithm_is_stored_and_read_back() {
        let window = Span::from_secs(60);
        let algorithms: [Algorithm; 6] = [
            Limit::new(Rate::per_day(1), Burst::tokens(5)).unwrap().into(),
            LeakyBucket::new(Rate::per_second(3), Burst::tokens(9))
                .unwrap()
                .max_wait(Span::from_secs(1))
                .into(),
            FixedWindow::new(Burst::tokens(7), Window::MONTH).unwrap().into(),
            SlidingCounter::new(Burst::tokens(7), window).unwrap().into(),
            SlidingLog::new(Burst::tokens(7), window).unwrap().into(),
            Concurrency::new(7, window).unwrap().into(),
        ];
        for algorithm in algorithms {
            let history =
                LimitHistory::new(&Declared { algorithm, slowest: None }, 1_790_000_000_000_000).unwrap();
            assert_eq!(history.algorithm(), Some(algorithm));
            assert_eq!(LimitHistory::parse(&history.lines()).as_ref(), Ok(&history));
            assert!(history.limit().is_ok());
        }
    }

    #[test]
    fn another_algorithm_is_refused_with_the_cure() {
        let history = LimitHistory::new(&bucket(10, 50), 0).unwrap();
        let log = SlidingLog::new(Burst::tokens(7), Span::from_secs(60)).unwrap();
        let error = history.change(&Declared { algorithm: log.into(), slowest: None }, 0).unwrap_err();
        assert!(error.to_string().ends_with("give the rule another name"), "{error}");
    }

    #[test]
    fn a_slowest_rate_above_the_rate_is_refused() {
        let declared = Declared { slowest: Some(Rate::per_second(11)), ..bucket(10, 50) };
        let error = LimitHistory::new(&declared, 0).unwrap_err();
        assert_eq!(error, HistoryError::Refused(LimitRefused::SlowestIsFaster));
    }

    #[test]
    fn a_record_of_someone_else_is_refused() {
        for lines in ["", "s 1 2 3", "x 1", "s", "f 1 2 3 4 5"] {
            assert_eq!(LimitHistory::parse(lines), Err(HistoryError::BadRecord), "{lines}");
        }
    }
}
