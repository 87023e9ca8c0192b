//! A figure for the terminal: one small panel for each line, side by side and on one scale.
//!
//! Lines on top of one another cannot be told apart without colour; panels can. Promises lines no wider than the screen.
//! Heights are rounded to the nearest eighth of a line, and an amount that is not nothing is seen.

use std::fmt::Write;

use tollgate::{Moment, Span};

use crate::screen::Screen;

use super::amounts;
use super::figure::{Figure, Line};

/// Lines of a panel, each of eight steps.
const LINES: u64 = 4;
/// Columns to the left of a plot: a label, a space and the axis.
const MARGIN: usize = 7;
/// Between two panels.
const GAP: usize = 2;
/// A panel is no narrower than this: two fit on 80 columns, three on 120.
const PANEL_COLUMNS_MIN: usize = 38;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// All panels, and above them what they count.
pub(crate) fn draw(figure: &Figure, screen: &Screen) -> String {
    let Screen { columns, ink } = *screen;
    let side_by_side = ((columns + GAP) / (PANEL_COLUMNS_MIN + GAP)).clamp(1, 3);
    let wide = (columns + GAP) / side_by_side - GAP;
    let mut text = ink.heading(&capitalised(figure.up));
    let _ = writeln!(text, " {}", ink.faint(&format!("({})", scale(figure))));
    for row in figure.lines.chunks(side_by_side) {
        let panels: Vec<Vec<String>> = row.iter().map(|line| panel(figure, line, wide)).collect();
        for height in 0..panels[0].len() {
            let cells = panels.iter().map(|panel| {
                let (cell, idle) = (&panel[height], wide - panel[height].chars().count());
                let painted = if height == 0 { cell.clone() } else { ink.balance(cell) };
                format!("{painted}{:idle$}", "")
            });
            let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

/// Title, plot and axis of one line, each no wider than `wide`.
fn panel(figure: &Figure, line: &Line, wide: usize) -> Vec<String> {
    let (plot, top) = ((wide - MARGIN) as u64, figure.top());
    let label = amounts::short_tokens(u128::from(top), 1);
    let mut rows = vec![format!("{:MARGIN$}{}", "", line.name)];
    for height in (0..LINES).rev() {
        let bars: String =
            (0..plot).map(|column| bar(line.amount_at(end_of(figure, column, plot)), top, height)).collect();
        let (label, axis) = if height + 1 == LINES { (label.as_str(), '┤') } else { ("", '│') };
        rows.push(format!("{label:>5} {axis}{bars}").trim_end().to_owned());
    }
    rows.push(format!("{:>5} └{}", "0", "─".repeat(wide - MARGIN)));
    let (from, to) = (amounts::seconds(figure.from), amounts::seconds(figure.to));
    let idle = (wide - MARGIN).saturating_sub(from.chars().count());
    rows.push(format!("{:MARGIN$}{from}{to:>idle$}", ""));
    rows
}

/// The last moment of a column: what happened in it is seen in it.
fn end_of(figure: &Figure, column: u64, columns: u64) -> Moment {
    let after = u128::from(figure.length()) * u128::from(column + 1) / u128::from(columns.max(1));
    figure.from + Span::from_nanos(u64::try_from(after).unwrap_or(u64::MAX))
}

/// What of a bar of this amount is within the line.
fn bar(amount: u64, top: u64, height: u64) -> char {
    let (amount, top) = (u128::from(amount), u128::from(top.max(1)));
    let steps = ((amount * u128::from(LINES) * 8 + top / 2) / top).max(u128::from(amount > 0));
    let within = steps.saturating_sub(u128::from(height) * 8).min(8);
    usize::try_from(within).ok().and_then(|within| EIGHTHS.get(within)).copied().unwrap_or(' ')
}

fn scale(figure: &Figure) -> String {
    let (from, to) = (amounts::seconds(figure.from), amounts::seconds(figure.to));
    format!("across: {}, from {from} to {to}", figure.across)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::figure::{Hue, ONE, Point};
    use crate::screen::Ink;

    fn figure() -> Figure {
        let at = |seconds: u64| Moment::default() + Span::from_secs(seconds);
        let line = |name: &str, amount: u64| Line {
            name: name.to_owned(),
            remark: String::new(),
            hue: Hue::Blue,
            points: vec![Point { at: at(2), amount: amount * ONE }],
        };
        Figure {
            title: "",
            takeaway: String::new(),
            across: "time",
            up: "requests",
            from: at(0),
            to: at(4),
            lines: vec![line("many", 80), line("few", 1), line("half", 40)],
            notes: Vec::new(),
        }
    }

    #[test]
    fn panels_share_a_scale_and_stand_side_by_side() {
        let drawn = draw(&figure(), &Screen { columns: 80, ink: Ink::Plain });
        let expected = "Requests (across: time, from 0 s to 4 s)
       many                                     few
   80 ┤               █████████████████     80 ┤
      │               █████████████████        │
      │               █████████████████        │
      │               █████████████████        │               ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
    0 └────────────────────────────────      0 └────────────────────────────────
       0 s                          4 s         0 s                          4 s
       half
   80 ┤
      │
      │               █████████████████
      │               █████████████████
    0 └────────────────────────────────
       0 s                          4 s
";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn three_panels_fit_on_120_columns_and_none_is_wider_than_the_screen() {
        for columns in [64, 80, 100, 119, 120, 160] {
            let drawn = draw(&figure(), &Screen { columns, ink: Ink::Plain });
            assert!(drawn.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{drawn}");
        }
        let drawn = draw(&figure(), &Screen { columns: 120, ink: Ink::Plain });
        assert!(drawn.lines().any(|line| line.contains("many") && line.contains("half")), "{drawn}");
    }
}
