//! Bars for the terminal: one for each name, in two parts, with the sum at its end.
//!
//! Promises lines no wider than the screen. A part that is not nothing is at least one column.

use std::fmt::Write;

use crate::screen::Screen;

const FIRST: char = '█';
const SECOND: char = '▒';

/// One bar: what came first, and what came after it.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) first: u64,
    pub(crate) second: u64,
}

/// All bars on one scale, and what their parts mean.
pub(crate) fn draw(bars: &[Bar], meaning: [&str; 2], screen: &Screen) -> String {
    let Screen { columns, ink } = *screen;
    let names = bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let most = bars.iter().map(|bar| bar.first + bar.second).max().unwrap_or(0).max(1);
    let room = columns.saturating_sub(names + 6 + most.to_string().len()).max(2) as u64;
    let mut text = String::new();
    for Bar { name, first, second } in bars {
        let wide = |part: u64| usize::try_from(part * (room - 1) / most + u64::from(part > 0)).unwrap_or(0);
        let [one, two] =
            [(FIRST, *first), (SECOND, *second)].map(|(sign, part)| sign.to_string().repeat(wide(part)));
        let _ =
            writeln!(text, "  {name:<names$}  {}{} {}", ink.admitted(&one), ink.denied(&two), first + second);
    }
    let [before, after] = meaning;
    let key = format!("{FIRST} {before}   {SECOND} {after}");
    let _ = writeln!(text, "  {:names$}  {}", "", ink.faint(&key));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Ink;

    #[test]
    fn bars_share_a_scale_and_fit() {
        let bar = |name: &str, first, second| Bar { name: name.to_owned(), first, second };
        let drawn = draw(
            &[bar("fixed", 100, 100), bar("none", 0, 0), bar("log", 100, 1)],
            ["before", "after"],
            &Screen { columns: 34, ink: Ink::Plain },
        );
        let expected = "  fixed  ██████████▒▒▒▒▒▒▒▒▒▒ 200
  none    0
  log    ██████████▒ 101
         █ before   ▒ after
";
        assert_eq!(drawn, expected);
        assert!(drawn.lines().all(|line| line.chars().count() <= 34));
    }
}
