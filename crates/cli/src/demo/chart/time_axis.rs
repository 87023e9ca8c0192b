//! The time axis of a chart: ticks at round times, and their labels.
//!
//! Promises that labels neither touch nor stand beyond the last column. A tick stands at the column that begins
//! nearest to its time. Starts at 0; knows nothing of what is plotted above it.

use tollgate::Moment;

use super::amounts;
use super::ticks::round_step;

/// At least so many columns from one label to the next.
const LABEL_DISTANCE_MIN: u128 = 10;
/// Units of time by their nanoseconds, longest first.
const UNITS: [(u128, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];

/// Two lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimeAxis {
    pub(crate) ticks: String,
    pub(crate) labels: String,
}

/// The axis from 0 to `end` over that many columns.
pub(crate) fn draw(columns: usize, end: Moment) -> TimeAxis {
    let (width, end) = (columns as u128, u128::from(end.as_nanos()).max(1));
    let step = round_step(LABEL_DISTANCE_MIN * end / width.max(1));
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| *unit <= end).unwrap_or(UNITS[3]);
    let mut ticks = vec!['─'; columns];
    let mut labels = vec![' '; columns];
    let mut free = 0;
    for time in (0..).map(|tick| tick * step).take_while(|time| *time < end) {
        let Ok(column) = usize::try_from((time * width + end / 2) / end) else { break };
        let label =
            if time == 0 { "0".to_owned() } else { format!("{} {name}", amounts::rounded(time, unit, 9)) };
        let from = column.saturating_sub(label.chars().count() / 2);
        if column < columns {
            ticks[column] = '┬';
        }
        if from >= free && from + label.chars().count() <= columns {
            free = from + label.chars().count() + 1;
            labels.splice(from..free - 1, label.chars());
        }
    }
    TimeAxis { ticks: ticks.into_iter().collect(), labels: labels.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_at_round_times_with_their_unit() {
        let TimeAxis { ticks, labels } = draw(40, Moment::from_nanos(2_000_000_000));
        assert_eq!(ticks, "┬─────────┬─────────┬─────────┬─────────");
        assert_eq!(labels, "0       0.5 s      1 s      1.5 s       ");
    }

    #[test]
    fn short_runs_are_labelled_in_short_units() {
        assert_eq!(draw(20, Moment::from_nanos(2_000_000)).labels.trim_end(), "0       1 ms");
        assert_eq!(draw(20, Moment::from_nanos(300)).labels.trim_end(), "0         200 ns");
    }
}
