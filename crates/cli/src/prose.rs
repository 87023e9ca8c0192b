//! Sentences that fit the screen.
//!
//! Promises that no line is wider than asked, unless a single word is. Counts characters, each one column wide.
//! Knows nothing of what is said.

use crate::screen::Screen;

/// Widest line that is pleasant to read.
const COLUMNS_MAX: usize = 80;

/// The title of a scene, and a line beneath it as long as the title.
pub(crate) fn rule(title: &str, screen: &Screen) -> String {
    let line = "━".repeat(title.chars().count().min(screen.columns));
    format!("{}\n{}\n", screen.ink.heading(title), screen.ink.faint(&line))
}

/// `text` broken into lines between words, each ended; none wider than is pleasant to read.
pub(crate) fn paragraph(text: &str, columns: usize) -> String {
    broken(text, columns.min(COLUMNS_MAX))
}

/// `text` broken into lines between words, each ended.
pub(crate) fn broken(text: &str, columns: usize) -> String {
    let (mut lines, mut used) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if used > 0 && used + 1 + width > columns {
            lines.push('\n');
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += width;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_fit() {
        assert_eq!(paragraph("one two three", 7), "one two\nthree\n");
        assert_eq!(paragraph("one two three", 6), "one\ntwo\nthree\n");
        assert_eq!(paragraph("unbreakable word", 4), "unbreakable\nword\n");
    }
}
