//! The line of the text that a mistake is on, with carets under it.

use std::fmt::Write as _;

/// Characters of a line that are shown; longer ones are cut on both sides.
const SHOWN_CHARS_MAX: usize = 120;
/// Of a cut line, so many are shown before the place.
const BEFORE_CHARS: usize = 40;

/// A line of the text and what of it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snippet {
    line: String,
    /// In characters, from 0, of the line as shown.
    caret: usize,
    carets: usize,
}

impl Snippet {
    /// The line that `start..end` (bytes) begins on, and the column of `start` in characters, from 1.
    pub(super) fn of(text: &str, start: usize, end: usize) -> (Snippet, u32) {
        let start = floor(text, start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let column = text[line_start..start].chars().count();
        let end = floor(text, end.clamp(start, line_end));
        let carets = text[start..end].trim_end().chars().count().max(1);

        let skipped =
            if line.chars().count() > SHOWN_CHARS_MAX { column.saturating_sub(BEFORE_CHARS) } else { 0 };
        let mut shown: String = line.chars().skip(skipped).take(SHOWN_CHARS_MAX).map(clean).collect();
        let mut caret = column - skipped;
        if skipped > 0 {
            shown.insert(0, '…');
            caret += 1;
        }
        let carets = carets.min(shown.chars().count().saturating_sub(caret).max(1));
        if line.chars().count() > skipped + SHOWN_CHARS_MAX {
            shown.push('…');
        }
        (Snippet { line: shown, caret, carets }, u32::try_from(column + 1).unwrap_or(u32::MAX))
    }

    /// Three lines: an empty one, the text with its number, and the carets.
    pub(super) fn render(&self, number: u32) -> String {
        let number = number.to_string();
        let margin = " ".repeat(number.len());
        let mut out = format!("{margin} |\n{number} | {}\n{margin} | ", self.line);
        let _ = write!(out, "{}{}", " ".repeat(self.caret), "^".repeat(self.carets));
        out
    }
}

/// A character that takes one column and does nothing to a terminal.
fn clean(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// The character's beginning at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_what_is_meant() {
        let (snippet, column) = Snippet::of("a: 1\nbürst: 50\n", 13, 15);
        assert_eq!(column, 8);
        assert_eq!(snippet.render(2), "  |\n2 | bürst: 50\n  |        ^^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}bad{}", "x".repeat(5_000), "y".repeat(5_000));
        let (snippet, column) = Snippet::of(&text, 5_000, 5_003);
        assert_eq!(column, 5_001);
        let shown = snippet.render(1);
        assert!(shown.lines().all(|line| line.chars().count() < 140), "{shown}");
        assert!(shown.contains("xbady"));
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_shown() {
        let (snippet, _) = Snippet::of("a\u{1b}[31m", 0, 1);
        assert!(!snippet.render(1).contains('\u{1b}'));
    }
}
