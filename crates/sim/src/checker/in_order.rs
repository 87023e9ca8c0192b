//! The promise in meter time: for checks decided one after the other, whatever their clocks said.
//!
//! Between the i-th and the j-th admit the rule has minted what it mints between *their* moments, even if the clock ran
//! back meanwhile. Stronger than the promise over intervals, which follows from it. It knows one limit and one bucket.

use tollgate_core::{Cost, Limit, Moment};

use super::Promise;

/// The worst `admitted − (burst + minted(j) − minted(i) + 1)` over all runs of admits, in micro-tokens rounded up; at most
/// 0 if the promise was kept. `None` without admits.
pub fn worst_in_order(limit: Limit, admitted: impl IntoIterator<Item = (Moment, Cost)>) -> Option<i128> {
    let ruler = Promise::of(limit).ruler();
    let mut best_run: Option<i128> = None;
    let mut worst: Option<i128> = None;
    for (now, cost) in admitted {
        // Either the run that was best so far goes on, or a new one begins here.
        let begun = ruler.allowance_from(now);
        let run = best_run.map_or(begun, |run| run.max(begun))
            + i128::from(cost.as_micros()) * ruler.grains_per_micro();
        let over = run - ruler.minted(now);
        best_run = Some(run);
        worst = Some(worst.map_or(over, |worst| worst.max(over)));
    }
    worst.map(|over| ruler.whole_excess(over))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Burst, Rate};

    #[test]
    fn crediting_an_interval_twice_is_found() {
        let limit = Limit::new(Rate::per_second(10), Burst::tokens(1)).unwrap();
        let at = |millis: u64| (Moment::from_nanos(millis * 1_000_000), Cost::ONE);
        assert_eq!(worst_in_order(limit, [at(1_000), at(1_100), at(1_200)]), Some(-1));
        // A clock that stepped back by 100 ms, and a limiter that gave those 100 ms once more.
        assert_eq!(worst_in_order(limit, [at(1_000), at(1_100), at(1_000), at(1_100)]), Some(1_999_999));
        assert_eq!(worst_in_order(limit, []), None);
    }
}
