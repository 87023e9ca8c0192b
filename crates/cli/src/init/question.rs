//! Asks which preset to start from. Questions go to stderr: stdout is for data.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

use tollgate::policy::{self, Preset};

use crate::problem::Problem;

/// So many wrong answers are taken for a no.
const TRIES_MAX: usize = 3;

/// Asks on the terminal.
pub(super) fn which_preset() -> Result<&'static Preset, Problem> {
    asked(&mut io::stdin().lock(), &mut io::stderr().lock())
}

fn asked(answers: &mut impl BufRead, questions: &mut impl Write) -> Result<&'static Preset, Problem> {
    let presets = policy::presets();
    let mut menu = String::from("What do you want to limit?\n");
    for (number, preset) in (1..).zip(presets) {
        let _ = writeln!(menu, "{number:>3}  {:<15}  {}", preset.name, preset.description);
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
        asked(&mut typed.as_bytes(), &mut Vec::new()).ok().map(|preset| preset.name)
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
    fn no_answer_chooses_nothing() {
        assert_eq!(answer(""), None);
        assert_eq!(answer("a\nb\nc\nwebhook\n"), None);
    }
}
