//! Columns of text, aligned. Names come first and read from the left, figures follow and end at the right.
//!
//! Knows widths and nothing of what stands in the cells.

/// A table under construction.
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
    names: usize,
}

impl TextTable {
    /// A table with these titles: first of the columns that hold names, then of those that hold figures.
    pub(crate) fn new(names: &[&str], figures: &[&str]) -> Self {
        let titles = names.iter().chain(figures).map(|&title| title.to_owned()).collect();
        Self { rows: vec![titles], names: names.len() }
    }

    /// Adds a row. Cells that are missing at the end stay empty.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table, a rule under its titles, every line ended.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| self.aligned(row, &widths)).collect();
        let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1));
        lines.insert(1, rule);
        lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn aligned(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, &width))| {
            if column < self.names { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::TextTable;

    #[test]
    fn names_read_from_the_left_and_figures_end_at_the_right() {
        let mut table = TextTable::new(&["subject"], &["ns"]);
        table.row(vec!["a".to_owned(), "7".to_owned()]);
        table.row(vec!["governor".to_owned(), "1138".to_owned()]);
        table.row(vec!["none".to_owned()]);
        assert_eq!(table.render(), "subject     ns\n──────────────\na            7\ngovernor  1138\nnone\n");
    }
}
