//! Where a client stands with one rule: what its bucket holds after the check, in the units that answers use.

use std::time::Duration;

use tollgate_core::{Algorithm, Moment, Ruler, Span, Start, Tokens};

use super::reason;

/// One rule's bucket after a check. Whole tokens are rounded down, times are rounded up when they are shown. Figures are
/// worked out when they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'a> {
    rule: &'a str,
    scope: &'a str,
    algorithm: &'a Algorithm,
    /// At most what a full bucket holds.
    remaining: Tokens,
    /// Since 1970.
    now: Duration,
    /// Known better than from what remains.
    full_in: Option<Span>,
    is_shadow: bool,
    /// Of how many equal parts of the limit this is one.
    instances: u32,
}

impl<'a> Standing<'a> {
    /// The standing with the rule of this name and scope, whose bucket holds `remaining`. `now` is the time since 1970, by which
    /// windows of the calendar end.
    ///
    /// | algorithm | quota q: rounded down | window w, in seconds: rounded up | full again in |
    /// |---|---|---|---|
    /// | token bucket | burst | burst ÷ rate | what is missing ÷ rate |
    /// | leaky bucket | queue | queue ÷ rate | what is queued ÷ rate |
    /// | fixed window | quota | the window; a month is 30 days | the end of the window |
    /// | sliding log | quota | the window | at most one window: see [`Standing::full_again_in`] |
    /// | sliding counter | quota | the window | at most two windows: see [`Standing::full_again_in`] |
    /// | concurrency | places | none | unknown |
    pub fn new(
        rule: &'a str,
        scope: &'a str,
        algorithm: &'a Algorithm,
        remaining: Tokens,
        now: Duration,
    ) -> Standing<'a> {
        let remaining = remaining.min(algorithm.full());
        Standing { rule, scope, algorithm, remaining, now, full_in: None, is_shadow: false, instances: 1 }
    }

    /// The same for a bucket that is known to be full in this time if nobody spends: a sliding window's exact time is not a
    /// matter of what remains.
    #[must_use]
    pub const fn full_again_in(self, time: Span) -> Standing<'a> {
        Standing { full_in: Some(time), ..self }
    }

    /// The same for a rule that only watches: no answer will show it.
    #[must_use]
    pub const fn in_shadow(self) -> Standing<'a> {
        Standing { is_shadow: true, ..self }
    }

    /// Reports one of `instances` equal parts of the limit, by which an instance decides in fallback: quota and remaining are at most that part.
    #[must_use]
    pub fn among(self, instances: u32) -> Standing<'a> {
        let instances = instances.max(1);
        let part = Tokens::from_micros(self.algorithm.full().as_micros() / u64::from(instances));
        Standing { instances, remaining: self.remaining.min(part), ..self }
    }

    /// The one with the least remaining; of several, the one that takes longest to fill. Shadows are passed over.
    pub fn tightest(standings: impl IntoIterator<Item = Standing<'a>>) -> Option<Standing<'a>> {
        let seen = standings.into_iter().filter(|standing| !standing.is_shadow);
        seen.min_by_key(|standing| (standing.remaining, std::cmp::Reverse(standing.full_in())))
    }

    /// The rule's name.
    pub const fn rule(&self) -> &'a str {
        self.rule
    }

    /// What the rule is about.
    pub const fn scope(&self) -> &'a str {
        self.scope
    }

    /// Whole tokens of a full bucket, rounded down.
    pub fn quota(&self) -> u64 {
        Tokens::from_micros(self.algorithm.full().as_micros() / u64::from(self.instances)).whole()
    }

    /// In how many seconds the quota is minted, rounded up, at least 1; `None` if it is no matter of time.
    pub fn window_s(&self) -> Option<u64> {
        let window = match self.algorithm {
            Algorithm::TokenBucket(limit) => limit.time_to_full(),
            Algorithm::LeakyBucket(leaky) => leaky.limit().time_to_full(),
            Algorithm::FixedWindow(fixed) => fixed.window().length(),
            Algorithm::SlidingLog(log) => log.window(),
            Algorithm::SlidingCounter(counter) => counter.window(),
            // Places are given back when their holders like; nor would a window of an unknown algorithm be true.
            _ => return None,
        };
        Some(seconds_up(window).max(1))
    }

    /// Whole tokens that are left, rounded down; at most the quota.
    pub const fn remaining(&self) -> u64 {
        self.remaining.whole()
    }

    /// What is left, exactly; at most what a full bucket holds.
    pub const fn left(&self) -> Tokens {
        self.remaining
    }

    /// When the bucket is full again if nobody spends; `None` if nobody can tell.
    pub fn full_in(&self) -> Option<Span> {
        let missing = self.algorithm.full().as_micros() - self.remaining.as_micros();
        if missing == 0 {
            return Some(Span::ZERO);
        }
        let missing = Tokens::from_micros(missing);
        self.full_in.or_else(|| match self.algorithm {
            Algorithm::TokenBucket(limit) => Some(limit.time_to_mint(missing)),
            Algorithm::LeakyBucket(leaky) => Some(leaky.limit().time_to_mint(missing)),
            Algorithm::FixedWindow(_) => window_end(*self.algorithm, self.now),
            Algorithm::SlidingLog(log) => Some(log.window()),
            Algorithm::SlidingCounter(counter) => Some(counter.window() + counter.window()),
            _ => None,
        })
    }

    /// Whether the rule only watches.
    pub const fn is_shadow(&self) -> bool {
        self.is_shadow
    }

    /// Whether the quota is of places at work instead of tokens.
    pub(super) const fn counts_places(&self) -> bool {
        matches!(self.algorithm, Algorithm::Concurrency(_))
    }

    /// What a denial by this algorithm is called.
    pub(super) fn reason(&self) -> &'static str {
        reason::of_algorithm(self.algorithm)
    }
}

/// Whole seconds, rounded up.
pub(super) const fn seconds_up(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000_000_000)
}

/// How long after `now` the calendar's next window begins.
fn window_end(algorithm: Algorithm, now: Duration) -> Option<Span> {
    let now = Moment::default() + Span::from(now);
    let start = Start { now: Moment::default(), offset: 0, origin: 0 };
    Ruler::new(algorithm, start).meter().map(|meter| meter.wait_for(1, now))
}

#[cfg(test)]
mod tests {
    use tollgate_core::{
        Burst, Concurrency, FixedWindow, LeakyBucket, Limit, Rate, SlidingCounter, SlidingLog, Window,
    };

    use super::*;

    /// 2023-11-14T22:13:20Z.
    const NOW: Duration = Duration::from_secs(1_700_000_000);

    #[track_caller]
    fn check(
        algorithm: impl Into<Algorithm>,
        remaining_micros: u64,
        expected: (u64, Option<u64>, u64, Option<u64>),
    ) {
        let remaining = Tokens::from_micros(remaining_micros);
        let algorithm = algorithm.into();
        let standing = Standing::new("r", "user", &algorithm, remaining, NOW);
        let full_in_s = standing.full_in().map(seconds_up);
        assert_eq!((standing.quota(), standing.window_s(), standing.remaining(), full_in_s), expected);
    }

    #[test]
    fn each_algorithm_has_its_own_quota_window_and_time_to_full() {
        let (ten, burst) = (Rate::per_second(10), Burst::tokens(25));
        check(Limit::new(ten, burst).unwrap(), 2_900_000, (25, Some(3), 2, Some(3)));
        check(LeakyBucket::new(ten, burst).unwrap(), 24_500_000, (25, Some(3), 24, Some(1)));
        check(FixedWindow::new(burst, Window::HOUR).unwrap(), 0, (25, Some(3_600), 0, Some(46 * 60 + 40)));
        check(FixedWindow::new(burst, Window::DAY).unwrap(), 0, (25, Some(86_400), 0, Some(6_400)));
        check(SlidingLog::new(burst, Span::from_millis(1_500)).unwrap(), 0, (25, Some(2), 0, Some(2)));
        check(SlidingCounter::new(burst, Span::from_secs(60)).unwrap(), 0, (25, Some(60), 0, Some(120)));
        check(Concurrency::new(3, Span::from_secs(60)).unwrap(), 1_000_000, (3, None, 1, None));
    }

    #[test]
    fn a_slow_bucket_shows_its_window_rounded_up() {
        let reset = Limit::new(Rate::new(3, Span::from_secs(1_000)), Burst::tokens(5)).unwrap();
        check(reset, 0, (5, Some(1_667), 0, Some(1_667)));
        check(reset, 4_999_999, (5, Some(1_667), 4, Some(1)));
    }

    #[test]
    fn a_full_bucket_is_full_now_whatever_its_algorithm() {
        check(
            Limit::new(Rate::per_second(1), Burst::tokens(5)).unwrap(),
            5_000_000,
            (5, Some(5), 5, Some(0)),
        );
        check(
            FixedWindow::new(Burst::tokens(5), Window::DAY).unwrap(),
            5_000_000,
            (5, Some(86_400), 5, Some(0)),
        );
        check(Concurrency::new(3, Span::from_secs(60)).unwrap(), 3_000_000, (3, None, 3, Some(0)));
    }

    #[test]
    fn defect_10_remaining_is_never_above_the_quota() {
        let half = Limit::new(Rate::per_second(1), Burst::micros(2_500_000)).unwrap();
        check(half, u64::MAX, (2, Some(3), 2, Some(0)));
        check(
            Limit::new(Rate::per_second(1), Burst::micros(500_000)).unwrap(),
            500_000,
            (0, Some(1), 0, Some(0)),
        );
    }

    #[test]
    fn the_tightest_is_the_one_with_least_left_and_never_a_shadow() {
        let limit = Algorithm::from(Limit::new(Rate::per_second(1), Burst::tokens(9)).unwrap());
        let of = |rule, left| Standing::new(rule, "user", &limit, Tokens::from_micros(left), NOW);
        let all = [of("a", 3_000_000), of("b", 2_900_000), of("c", 2_100_000), of("d", 0).in_shadow()];
        assert_eq!(Standing::tightest(all).unwrap().rule(), "c");
        assert_eq!(Standing::tightest([all[3]]), None);
    }
}
