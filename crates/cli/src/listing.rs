//! A list for people: headings, and a line for each thing, in columns that stand straight.
//!
//! Promises that every cell is shown by [`visible`], whoever wrote it. Knows nothing of what is listed.

use crate::screen::Ink;
use crate::visible::visible;

/// Widest column, in characters; what is longer is cut off, and `-o json` has it whole.
const CELL_CHARS_MAX: usize = 60;

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Lines in the making.
#[derive(Debug)]
pub(crate) struct Listing {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

impl Listing {
    /// With these headings; one that ends in `#` is that of numbers, which stand on the right, and is shown without it.
    pub(crate) fn new(headings: &[&'static str]) -> Listing {
        let column = |heading: &&'static str| match heading.strip_suffix('#') {
            Some(heading) => (heading, Side::Right),
            None => (*heading, Side::Left),
        };
        Listing { columns: headings.iter().map(column).collect(), rows: Vec::new() }
    }

    /// One line more. Cells that are missing are empty.
    pub(crate) fn push<'c>(&mut self, cells: impl IntoIterator<Item = &'c str>) {
        self.rows.push(cells.into_iter().map(cut).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every line ended, with nothing behind its last word.
    pub(crate) fn text(&self, ink: Ink) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at)).collect();
        let headings: Vec<&str> = self.columns.iter().map(|(heading, _)| *heading).collect();
        let mut text = ink.faint(self.line(&headings, &widths).trim_end()) + "\n";
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            text.push_str(self.line(&cells, &widths).trim_end());
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[&str], widths: &[usize]) -> String {
        let mut line = String::new();
        for (at, ((_, side), width)) in self.columns.iter().zip(widths).enumerate() {
            let cell = cells.get(at).copied().unwrap_or_default();
            let blank = " ".repeat(width.saturating_sub(cell.chars().count()));
            let (before, after) = match side {
                Side::Left => ("", blank.as_str()),
                Side::Right => (blank.as_str(), ""),
            };
            line.extend([if at == 0 { "" } else { "  " }, before, cell, after]);
        }
        line
    }

    fn width(&self, at: usize) -> usize {
        let heading = self.columns.get(at).map_or(0, |(heading, _)| heading.chars().count());
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(heading)
    }
}

/// A cell as it is shown.
fn cut(text: &str) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(CELL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_straight_and_numbers_on_the_right() {
        let mut listing = Listing::new(&["NAME", "DENIED#", "MODE"]);
        listing.push(["login", "7", "enforce"]);
        listing.push(["a-long-name", "12345678", ""]);
        let expected = "\
NAME           DENIED  MODE
login               7  enforce
a-long-name  12345678
";
        assert_eq!(listing.text(Ink::Plain), expected);
    }

    #[test]
    fn no_cell_steers_the_terminal_or_breaks_the_line() {
        let mut listing = Listing::new(&["KEY"]);
        listing.push(["a\u{1b}[2J\nb"]);
        assert_eq!(listing.text(Ink::Plain), "KEY\na\\x1b[2J\\nb\n");
        listing.push([&*"x".repeat(1_000)]);
        assert!(listing.text(Ink::Plain).lines().all(|line| line.chars().count() <= CELL_CHARS_MAX + 1));
    }
}
