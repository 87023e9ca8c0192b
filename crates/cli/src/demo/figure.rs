//! A chart before it is drawn: lines over a common axis, in whole numbers, and the words around them.
//!
//! The terminal and the SVG draw the same figure, so that they cannot disagree. Times are nanoseconds, amounts are
//! micro-tokens. Does not know pixels or columns.

use tollgate::{Moment, Span};

/// Micro-tokens in a token, or in a request that costs one.
pub(crate) const ONE: u64 = 1_000_000;
/// Points of a line: one for every two pixels of the picture, or so.
const SAMPLES: u64 = 320;

/// Lines over one axis of time.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) title: &'static str,
    /// What to see in it, in a sentence or two.
    pub(crate) takeaway: String,
    /// What time stands for: `time`, `idle for`.
    pub(crate) across: &'static str,
    /// What the lines count.
    pub(crate) up: &'static str,
    pub(crate) from: Moment,
    pub(crate) to: Moment,
    pub(crate) lines: Vec<Line>,
    pub(crate) notes: Vec<Note>,
}

/// One line and its entry in the legend.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// What the legend says beneath the name.
    pub(crate) remark: String,
    pub(crate) hue: Hue,
    /// By time, ascending.
    pub(crate) points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) at: Moment,
    /// Micro-tokens.
    pub(crate) amount: u64,
}

/// A moment worth pointing at.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) at: Moment,
    pub(crate) text: String,
}

/// Colours by name; whoever draws knows their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hue {
    Blue,
    Pink,
    Teal,
    Red,
    Amber,
    Violet,
    /// What was promised, not what happened.
    Promise,
}

impl Figure {
    /// The highest point.
    pub(crate) fn top(&self) -> u64 {
        let amounts = self.lines.iter().flat_map(|line| &line.points).map(|point| point.amount);
        amounts.max().unwrap_or(0).max(ONE)
    }

    /// How long it lasts; never nothing.
    pub(crate) fn length(&self) -> u64 {
        self.to.since(self.from).as_nanos().max(1)
    }
}

impl Line {
    /// What the line stands at: the last point that is not later; 0 before the first.
    pub(crate) fn amount_at(&self, at: Moment) -> u64 {
        let known = self.points.partition_point(|point| point.at <= at);
        known.checked_sub(1).and_then(|last| self.points.get(last)).map_or(0, |point| point.amount)
    }
}

/// Looks at something at even distances from `from` to `to`, both included.
pub(crate) fn sampled(from: Moment, to: Moment, mut amount_at: impl FnMut(Moment) -> u64) -> Vec<Point> {
    let length = u128::from(to.since(from).as_nanos());
    let moments = (0..=SAMPLES).map(|sample| {
        let after = length * u128::from(sample) / u128::from(SAMPLES);
        from + Span::from_nanos(u64::try_from(after).unwrap_or(u64::MAX))
    });
    moments.map(|at| Point { at, amount: amount_at(at) }).collect()
}

/// What has been counted by then, from nothing at `from` on.
pub(crate) fn counted(from: Moment, to: Moment, mut count_by: impl FnMut(Moment) -> u64) -> Vec<Point> {
    let nothing = Point { at: from, amount: 0 };
    std::iter::once(nothing).chain(sampled(from, to, |at| count_by(at) * ONE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_amount_until_the_next_point() {
        let at = Moment::from_nanos;
        let points = vec![Point { at: at(10), amount: 1 }, Point { at: at(20), amount: 5 }];
        let line = Line { name: String::new(), remark: String::new(), hue: Hue::Blue, points };
        assert_eq!([0, 10, 19, 20, 99].map(|nanos| line.amount_at(at(nanos))), [0, 1, 1, 5, 5]);
    }

    #[test]
    fn samples_reach_both_ends() {
        let points = sampled(Moment::from_nanos(100), Moment::from_nanos(1_001), Moment::as_nanos);
        assert_eq!(points.first().map(|point| point.amount), Some(100));
        assert_eq!(points.last().map(|point| point.amount), Some(1_001));
        assert!(points.is_sorted_by_key(|point| point.at));
    }
}
