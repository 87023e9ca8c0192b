//! How long checks take, by door: `tollgate_check_duration_seconds`.
//!
//! A check adds to two atomic counters, without a lock. Doors that counted nothing are not shown.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use tollgate::Span;

use crate::door::Door;

/// Upper bounds, in nanoseconds: a check takes less than a microsecond in memory, a batch of a thousand a few hundred, and one that asks a
/// shared store as many as the network takes.
#[rustfmt::skip]
const BOUNDS_NANOS: [u64; 19] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
];

/// The doors that check.
const DOORS: [Door; 2] = [Door::Http, Door::Resp];

/// The durations of all doors.
#[derive(Debug, Clone, Default)]
pub(super) struct Durations(Arc<[OfDoor; DOORS.len()]>);

/// The durations of one door: how many up to each bound and above the last, and their sum.
#[derive(Debug, Default)]
struct OfDoor {
    counts: [AtomicU64; BOUNDS_NANOS.len() + 1],
    sum_nanos: AtomicU64,
}

/// How many durations were noted up to each bound and above the last, at all doors together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DurationCounts([u64; BOUNDS_NANOS.len() + 1]);

impl DurationCounts {
    /// Those that were noted since an earlier look.
    pub(crate) fn since(&self, before: &DurationCounts) -> DurationCounts {
        DurationCounts(std::array::from_fn(|at| self.0[at].saturating_sub(before.0[at])))
    }

    /// What this part of them, in percent, did not exceed, in microseconds: evenly between two bounds, and the last bound if it was more. `None`
    /// if there are none.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people, of less than 2^53 nanoseconds")]
    pub(crate) fn percentile_us(&self, percent: u64) -> Option<f64> {
        let count: u64 = self.0.iter().sum();
        // The first of so many, rounded up; of one it is that one.
        let rank = (u128::from(count) * u128::from(percent)).div_ceil(100).max(1);
        let (mut below, mut lower) = (0_u128, 0_u64);
        for (upper, within) in BOUNDS_NANOS.iter().zip(&self.0) {
            let within = u128::from(*within);
            if below + within >= rank {
                let nanos = u128::from(lower) + u128::from(upper - lower) * (rank - below) / within.max(1);
                return Some(u64::try_from(nanos).unwrap_or(u64::MAX) as f64 / 1e3);
            }
            (below, lower) = (below + within, *upper);
        }
        (count > 0).then_some(lower as f64 / 1e3)
    }
}

impl Durations {
    /// What was noted by now.
    pub(super) fn counts(&self) -> DurationCounts {
        let sum = |at: usize| self.0.iter().map(|of| of.counts[at].load(Ordering::Relaxed)).sum();
        DurationCounts(std::array::from_fn(sum))
    }

    /// Notes one duration.
    pub(super) fn note(&self, door: Door, took: Span) {
        let Some(at) = DOORS.iter().position(|known| *known == door) else { return };
        let of_door = &self.0[at];
        let nanos = took.as_nanos();
        let bucket = BOUNDS_NANOS.iter().take_while(|bound| **bound < nanos).count();
        of_door.counts[bucket].fetch_add(1, Ordering::Relaxed);
        of_door.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl EncodeMetric for Durations {
    #[expect(clippy::cast_precision_loss, reason = "a page for people; sums of nanoseconds round above 2^53")]
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (door, of_door) in DOORS.iter().zip(&*self.0) {
            let counts = of_door.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
            let count = counts.iter().sum();
            if count == 0 {
                continue;
            }
            let bounds = BOUNDS_NANOS.map(|nanos| nanos as f64 / 1e9).into_iter().chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
            let sum = of_door.sum_nanos.load(Ordering::Relaxed) as f64 / 1e9;
            encoder
                .encode_family(&[("door", door.name())])?
                .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::{Registry, Unit};

    #[test]
    fn percentiles_are_of_what_was_noted_in_between() {
        let durations = Durations::default();
        let none = durations.counts();
        assert_eq!(none.percentile_us(50), None);
        for _ in 0..99 {
            durations.note(Door::Http, Span::from_nanos(150));
        }
        durations.note(Door::Resp, Span::from_nanos(7_000));
        let early = durations.counts();
        let between = |from: f64, to: f64, percentile: Option<f64>| {
            let is_between = percentile.is_some_and(|it| (from..=to).contains(&it));
            assert!(is_between, "{percentile:?} is not between {from} and {to}");
        };
        between(0.1, 0.25, early.percentile_us(50));
        between(0.1, 0.25, early.percentile_us(99));
        between(5.0, 10.0, early.percentile_us(100));
        assert_eq!(durations.counts().since(&early).percentile_us(99), None);
        durations.note(Door::Http, Span::from_secs(5));
        assert_eq!(
            durations.counts().since(&early).percentile_us(50),
            Some(100_000.0),
            "more than that is not told"
        );
    }

    #[test]
    fn durations_are_counted_up_to_each_bound_and_doors_that_counted_none_are_not_shown() {
        let (durations, mut registry, mut page) = (Durations::default(), Registry::default(), String::new());
        registry.register_with_unit("check_duration", "How long", Unit::Seconds, durations.clone());
        for nanos in [0, 100, 101, 2_500, 5_000_000_000] {
            durations.note(Door::Resp, Span::from_nanos(nanos));
        }
        durations.note(Door::Admin, Span::from_nanos(1));
        encode(&mut page, &registry).unwrap();
        for line in [
            "check_duration_seconds_sum{door=\"resp\"} 5.000002701\n",
            "check_duration_seconds_count{door=\"resp\"} 5\n",
            "check_duration_seconds_bucket{le=\"1e-7\",door=\"resp\"} 2\n",
            "check_duration_seconds_bucket{le=\"2.5e-7\",door=\"resp\"} 3\n",
            "check_duration_seconds_bucket{le=\"0.0000025\",door=\"resp\"} 4\n",
            "check_duration_seconds_bucket{le=\"0.1\",door=\"resp\"} 4\n",
            "check_duration_seconds_bucket{le=\"+Inf\",door=\"resp\"} 5\n",
        ] {
            assert!(page.contains(line), "{line}{page}");
        }
        assert!(!page.contains("http"), "{page}");
    }
}
