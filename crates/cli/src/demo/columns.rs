//! A table for the terminal: names on the left, numbers on the right of their column.
//!
//! Every column is as wide as its widest cell. The last column may be painted; the others are plain.

use std::fmt::Write;

use crate::screen::Ink;

/// Spaces between two columns.
const GAP: usize = 3;

/// A table with `N` columns.
#[derive(Debug)]
pub(crate) struct Columns<const N: usize> {
    /// The titles first.
    rows: Vec<[String; N]>,
}

impl<const N: usize> Columns<N> {
    pub(crate) fn new(titles: [impl Into<String>; N]) -> Columns<N> {
        Columns { rows: vec![titles.map(Into::into)] }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// The table, every line ended. `paint` is given the last cell of each row but the titles.
    pub(crate) fn draw(&self, ink: Ink, paint: impl Fn(&str) -> String) -> String {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; N] = std::array::from_fn(width);
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::from("  ");
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                let idle = width - cell.chars().count();
                let is_painted = column + 1 == N && number > 0;
                let shown = if is_painted { paint(cell) } else { cell.clone() };
                let _ = match column {
                    0 => write!(line, "{shown}{:idle$}", ""),
                    _ => write!(line, "{:indent$}{shown}", "", indent = idle + GAP),
                };
            }
            let line = line.trim_end();
            let _ = writeln!(text, "{}", if number == 0 { ink.heading(line) } else { line.to_owned() });
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_numbers_right() {
        let mut table = Columns::new(["who", "how many"]);
        table.row(["somebody".to_owned(), "7".to_owned()]);
        assert_eq!(table.draw(Ink::Plain, str::to_owned), "  who        how many\n  somebody          7\n");
    }
}
