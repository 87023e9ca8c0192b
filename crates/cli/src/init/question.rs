//! Asks which preset to start from. Questions go to stderr: stdout is for data.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

use tollgate::policy::{self, Preset};

use crate::problem::Problem;
use crate::prose;
use crate::screen::Screen;

/// So many wrong answers are taken for a no.
const TRIES_MAX: usize = 3;

/// Asks on the terminal.
pub(super) fn which_preset() -> Result<&'static Preset, Problem> {
    asked(&mut io::stdin().lock(), &mut io::stderr().lock(), Screen::of_stderr().columns)
}

fn asked(
    answers: &mut impl BufRead,
    questions: &mut impl Write,
    columns: usize,
) -> Result<&'static Preset, Problem> {
    let presets = policy::presets();
    let mut menu = String::from("What do you want to limit?\n");
    let names = presets.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    let margin = names + 7;
    for (number, preset) in (1..).zip(presets) {
        let lines = prose::broken(preset.description, columns.saturating_sub(margin));
        let lines = lines.trim_end().replace('\n', &format!("\n{:margin$}", ""));
        let _ = writeln!(menu, "{number:>3}  {:<names$}  {lines}", preset.name);
    }
    let _ = write!(questions, "{menu}");
    for _ in 0..TRIES_MAX {
        let _ = write!(questions, "Number or name [1]: ");
        let _ = questions.flush();
        let mut line = String::new();
        // A terminal hands out a line at a time; what is longer than a name is none.
        if answers.read_line(&mut line).map_or(true, |bytes| bytes == 0) {
            break;
        }
        if let Some(preset) = chosen(line.trim(), presets) {
            return Ok(preset);
        }
        let _ = writeln!(questions, "There is no {:?}.", line.trim());
    }
    Err(Problem::Unanswered("nothing was chosen and nothing written; choose with --preset NAME".to_owned()))
}

fn chosen(answer: &str, presets: &'static [Preset]) -> Option<&'static Preset> {
    match answer {
        "" => presets.first(),
        _ => match answer.parse::<usize>() {
            Ok(number) => presets.get(number.checked_sub(1)?),
            Err(_) => presets.iter().find(|preset| preset.name == answer),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(typed: &str) -> Option<&'static str> {
        asked(&mut typed.as_bytes(), &mut Vec::new(), 80).ok().map(|preset| preset.name)
    }

    #[test]
    fn an_answer_is_a_number_or_a_name_and_nothing_is_the_first() {
        let names: Vec<&str> = policy::presets().iter().map(|preset| preset.name).collect();
        assert_eq!(answer("\n"), Some(names[0]));
        assert_eq!(answer("2\n"), Some(names[1]));
        assert_eq!(answer("webhook\n"), Some("webhook"));
        assert_eq!(answer("0\n99\nstrict\n"), Some("strict"), "two slips are forgiven");
    }

    #[test]
    fn the_menu_fits_the_screen() {
        let mut menu = Vec::new();
        assert!(asked(&mut "webhook\n".as_bytes(), &mut menu, 80).is_ok());
        let menu = String::from_utf8(menu).unwrap();
        assert!(menu.lines().all(|line| line.chars().count() <= 80), "{menu}");
    }

    #[test]
    fn no_answer_chooses_nothing() {
        assert_eq!(answer(""), None);
        assert_eq!(answer("a\nb\nc\nwebhook\n"), None);
    }
}
