//! A chart for the terminal: the balance of a bucket over time, and beneath it who was admitted and who was denied.
//!
//! Promises lines no wider than its columns and [`MARGIN`]. Heights are rounded to the nearest eighth of a line; a
//! share that is neither none nor all never looks like either. Does not know where its numbers come from.

mod time_axis;

use std::fmt::Write;

use tollgate::{Moment, Tokens};

use crate::screen::Ink;

use super::replay::Tally;
use super::{amounts, ticks};

/// Columns to the left of the plot: a label, a space and the axis.
pub(crate) const MARGIN: usize = LABEL_COLUMNS + 2;
/// Fits `admitted`, and every burst in short.
const LABEL_COLUMNS: usize = 10;
/// Lines of the plot, each of eight steps.
const LINES: u64 = 10;
/// A label on every second line.
const LINES_PER_LABEL: u64 = 2;
/// Nothing, then one to eight eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// What the top of the plot stands for: the burst.
    pub(crate) ceiling: Tokens,
    pub(crate) columns: Vec<Column>,
    /// When the last column ends.
    pub(crate) end: Moment,
    pub(crate) note: Option<Note>,
}

/// One column: from one moment to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// What the bucket holds when the column begins.
    pub(crate) balance: Tokens,
    pub(crate) tally: Tally,
}

/// An arrow at a column, and what it points at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    pub(crate) column: usize,
    /// Short enough for one side or the other: at most half of the columns.
    pub(crate) text: &'static str,
}

impl Chart {
    /// The chart as text, every line ended.
    pub(crate) fn draw(&self, ink: Ink) -> String {
        let mut text = format!("{:>LABEL_COLUMNS$}\n", "tokens");
        for line in (0..LINES).rev() {
            self.write_plot_line(&mut text, line, ink);
        }
        let axis = time_axis::draw(self.columns.len(), self.end);
        write_line(&mut text, "0", '└', &axis.ticks);
        write_line(&mut text, "time", ' ', &axis.labels);
        let admitted: String = self.strip(|tally| tally.admitted);
        let denied: String = self.strip(Tally::denied);
        write_line(&mut text, "admitted", ' ', &ink.admitted(&admitted));
        write_line(&mut text, "denied", ' ', &ink.denied(&denied));
        if let Some(note) = &self.note {
            write_line(&mut text, "", ' ', &self.place(note));
        }
        text
    }

    /// Line 0 is the lowest. The label says what the upper edge of the line stands for.
    fn write_plot_line(&self, text: &mut String, line: u64, ink: Ink) {
        let bars: String = self.columns.iter().map(|column| self.bar(column.balance, line)).collect();
        let edge = line + 1;
        if edge.is_multiple_of(LINES_PER_LABEL) {
            let label = amounts::short_tokens(u128::from(self.ceiling.as_micros()) * u128::from(edge), LINES);
            write_line(text, &label, '┤', &ink.balance(bars.trim_end()));
        } else {
            write_line(text, "", '│', &ink.balance(bars.trim_end()));
        }
    }

    /// What of a bar of this balance is within the line.
    fn bar(&self, balance: Tokens, line: u64) -> char {
        let (balance, ceiling) =
            (u128::from(balance.as_micros()), u128::from(self.ceiling.as_micros()).max(1));
        let steps = (balance * u128::from(LINES) * 8 + ceiling / 2) / ceiling;
        let within = steps.saturating_sub(u128::from(line) * 8).min(8);
        usize::try_from(within).ok().and_then(|within| EIGHTHS.get(within)).copied().unwrap_or(' ')
    }

    /// Per column, which part of its requests counts.
    fn strip(&self, count: impl Fn(Tally) -> u64) -> String {
        self.columns.iter().map(|column| share(count(column.tally), column.tally.requests)).collect()
    }

    /// The arrow under its column, and its text on the side where there is room.
    fn place(&self, note: &Note) -> String {
        let Note { column, text } = note;
        let width = text.chars().count() + 2;
        if column + width <= self.columns.len() || column + 1 < width {
            format!("{:column$}↑ {text}", "")
        } else {
            format!("{:indent$}{text} ↑", "", indent = column + 1 - width)
        }
    }
}

/// A block as high as the share.
fn share(part: u64, whole: u64) -> char {
    let eighths = match part {
        0 => 0,
        part if part >= whole => 8,
        part => ((part * 8 + whole / 2) / whole).clamp(1, 7),
    };
    usize::try_from(eighths).ok().and_then(|eighths| EIGHTHS.get(eighths)).copied().unwrap_or(' ')
}

fn write_line(text: &mut String, label: &str, axis: char, plot: &str) {
    let line = format!("{label:>LABEL_COLUMNS$} {axis}{plot}");
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(balances: &[u64], admitted: &[(u64, u64)]) -> Chart {
        let tallies = admitted.iter().map(|&(admitted, requests)| Tally { requests, admitted });
        let columns = balances.iter().zip(tallies);
        Chart {
            ceiling: Tokens::from_micros(10_000_000),
            columns: columns
                .map(|(balance, tally)| Column { balance: Tokens::from_micros(balance * 1_000), tally })
                .collect(),
            end: Moment::from_nanos(1_000_000_000),
            note: None,
        }
    }

    #[test]
    fn a_bar_is_as_high_as_the_balance_to_an_eighth_of_a_line() {
        let drawn = chart(&[10_000, 5_500, 1_125, 50, 0], &[(1, 1), (3, 4), (1, 100), (0, 2), (0, 0)])
            .draw(Ink::Plain);
        let expected = "    tokens
        10 ┤█
           │█
         8 ┤█
           │█
         6 ┤█▄
           │██
         4 ┤██
           │██
         2 ┤██▁
           │███
         0 └┬────
      time  0
  admitted  █▆▁
    denied   ▂▇█
";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn a_share_that_is_neither_none_nor_all_looks_like_neither() {
        assert_eq!(
            [share(0, 1_000), share(1, 1_000), share(999, 1_000), share(1_000, 1_000)],
            [' ', '▁', '▇', '█']
        );
        assert_eq!(share(0, 0), ' ');
    }

    #[test]
    fn a_note_stays_within_the_chart_on_the_side_where_there_is_room() {
        let wide = chart(&[0; 20], &[(0, 0); 20]);
        let place = |column| wide.place(&Note { column, text: "here" });
        assert_eq!(place(0), "↑ here");
        assert_eq!(place(14), "              ↑ here");
        assert_eq!(place(15), "          here ↑");
        assert_eq!(place(19), "              here ↑");
    }

    #[test]
    fn no_line_is_wider_than_the_columns_and_the_margin() {
        for columns in [1, 2, 9, 69, 150] {
            for nanos in [1, 999, 1_234_567, 59_999_999_999, 86_400_000_000_000] {
                let mut wide = chart(&vec![7_777; columns], &vec![(1, 2); columns]);
                wide.end = Moment::from_nanos(nanos);
                for line in wide.draw(Ink::Plain).lines() {
                    assert!(line.chars().count() <= columns + MARGIN, "{line}");
                }
            }
        }
    }
}
