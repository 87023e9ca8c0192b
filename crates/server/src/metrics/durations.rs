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

/// Upper bounds, in nanoseconds: a check takes less than a microsecond, a batch of a thousand a few hundred.
const BOUNDS_NANOS: [u64; 11] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

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

impl Durations {
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
