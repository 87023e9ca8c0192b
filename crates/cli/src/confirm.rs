//! Asks whether to go on. The question goes to stderr: stdout is for data.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::problem::Problem;

/// Goes on if `--yes` was said, or a person at the terminal says so; else nothing is changed, and the problem says so.
pub(crate) fn confirm(question: &str, is_yes: bool) -> Result<(), Problem> {
    if is_yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Problem::Usage(
            "nothing was changed: there is no terminal to ask at; look at it first, and add --yes".to_owned(),
        ));
    }
    asked(question, &mut io::stdin().lock(), &mut io::stderr().lock())
}

fn asked(question: &str, answers: &mut impl BufRead, questions: &mut impl Write) -> Result<(), Problem> {
    let _ = write!(questions, "{question} [y/N] ");
    let _ = questions.flush();
    let mut line = String::new();
    let is_yes = answers.read_line(&mut line).is_ok()
        && ["y", "yes"].iter().any(|yes| line.trim().eq_ignore_ascii_case(yes));
    if is_yes {
        return Ok(());
    }
    Err(Problem::Unanswered("nothing was changed: the answer was not yes".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        let is_yes = |typed: &str| asked("Go on?", &mut typed.as_bytes(), &mut Vec::new()).is_ok();
        assert!(is_yes("y\n") && is_yes("YES\n"));
        assert!(!is_yes("\n") && !is_yes("") && !is_yes("n\n") && !is_yes("yesterday\n"));
    }
}
