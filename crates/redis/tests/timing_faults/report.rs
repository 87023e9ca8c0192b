//! What a run has shown: how late answers were, when the store decided again, what was admitted too much.

use tollgate_core::{Moment, Span};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Event;

use crate::asked::{Asked, EVERYTHING, Kept};
use crate::stalls::Stalls;
use crate::traffic::Seen;

/// So long nobody must have been answered without the store before it counts as back.
const QUIET: Span = Span::from_millis(250);

/// How many of the latest answers a failed test shows.
const SHOWN_MAX: usize = 20;

/// What a run has shown.
pub(crate) struct Report {
    seen: Vec<Seen>,
    /// Times at which the machine stood still: no store and no limiter can answer then, so they do not count.
    stalls: Stalls,
}

impl Report {
    pub(crate) fn new((mut seen, stalls): (Vec<Seen>, Stalls)) -> Report {
        seen.sort_unstable_by_key(|seen| seen.intended);
        Report { seen, stalls }
    }

    /// Fails the test if the machine stood still for so long that the run says nothing.
    #[track_caller]
    pub(crate) fn assert_measured(&self, name: &str) {
        self.stalls.assert_few(name);
    }

    /// From when a check was meant to leave until it was answered.
    fn latency(&self, seen: &Seen) -> Span {
        self.stalls.running(seen.intended, seen.answered)
    }

    /// One in a thousand was later than this.
    pub(crate) fn p999(&self) -> Span {
        let mut latencies: Vec<Span> = self.seen.iter().map(|seen| self.latency(seen)).collect();
        latencies.sort_unstable();
        latencies[latencies.len() * 999 / 1_000]
    }

    /// The latest answers: when each was meant to leave, after the first of all; how late it left; and how long it took then.
    pub(crate) fn latest(&self) -> String {
        let mut latest: Vec<&Seen> = self.seen.iter().collect();
        latest.sort_unstable_by_key(|seen| std::cmp::Reverse(self.latency(seen)));
        let begin = self.seen[0].intended;
        let lines = latest.iter().take(SHOWN_MAX).map(|seen| {
            let Seen { intended, called, answered, asked, .. } = seen;
            let (at, late, took) = (intended.since(begin), called.since(*intended), answered.since(*called));
            format!("\n   at {at}: left {late} late, took {took}, {asked:?}")
        });
        lines.collect()
    }

    pub(crate) fn checks(&self) -> usize {
        self.seen.len()
    }

    /// How many checks were decided without the store.
    pub(crate) fn fallbacks(&self, asked: Asked) -> usize {
        self.of(asked).filter(|seen| !seen.is_by_store).count()
    }

    /// How many were told that the store does not answer.
    pub(crate) fn refused(&self, asked: Asked) -> usize {
        self.of(asked).filter(|seen| seen.is_refused).count()
    }

    /// How long after `returned` the store decided again, for good: until a quarter of a second began without any other verdict.
    pub(crate) fn recovery(&self, asked: Asked, returned: Moment) -> Span {
        let mut back = returned;
        for seen in self.of(asked).filter(|seen| !seen.is_by_store && seen.called >= returned) {
            if seen.called.since(back) > QUIET {
                break;
            }
            back = seen.called;
        }
        self.stalls.running(returned, back)
    }

    /// By how many micro-tokens more than `burst + rate·d` was admitted in any interval: of the worst client, or of all together.
    pub(crate) fn excess(&self, asked: Asked, kept: &Kept) -> i128 {
        let events = self.of(asked).map(|seen| Event {
            key: if kept.is_of_all { 0 } else { seen.client as u64 },
            called: seen.called,
            answered: seen.answered,
            cost: 1_000_000,
            admitted: seen.is_admitted,
        });
        judge(events.collect(), &Promise::of(kept.limit)).worst().map_or(0, |worst| worst.excess).max(0)
    }

    /// The most that any client was admitted without the store, in micro-tokens.
    pub(crate) fn admitted_without(&self, asked: Asked) -> i128 {
        let mut of_client = std::collections::BTreeMap::<usize, i128>::new();
        for seen in self.of(asked).filter(|seen| !seen.is_by_store && seen.is_admitted) {
            *of_client.entry(seen.client).or_default() += 1_000_000;
        }
        of_client.into_values().max().unwrap_or(0)
    }

    fn of(&self, asked: Asked) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.asked == asked)
    }

    /// One line for everything that was asked for.
    pub(crate) fn print(&self, name: &str, returned: Option<Moment>) {
        let (checks, stood_still) = (self.checks(), self.stalls.total());
        println!("{name}: {checks} checks, p99.9 {}, the machine stood still for {stood_still}", self.p999());
        for asked in EVERYTHING {
            let back = returned.map_or("-".to_owned(), |returned| self.recovery(asked, returned).to_string());
            let excess: Vec<String> =
                asked.kept().iter().map(|kept| self.excess(asked, kept).to_string()).collect();
            println!(
                "   {asked:?}: {} without the store, {} refused, back after {back}, {} micro-tokens too much",
                self.fallbacks(asked),
                self.refused(asked),
                excess.join(" and ")
            );
        }
    }
}
