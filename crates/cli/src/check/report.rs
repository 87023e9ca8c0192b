//! What is wrong with policies, for people and for machines.

use std::fmt::Write;

use serde::Serialize;
use tollgate::policy::{Lint, Mistake};

use super::{Checked, Sound, Unsound};
use crate::format;
use crate::mistakes_text;
use crate::screen::Ink;

/// For people: mistakes with their place, lints, and a line for each file.
pub(super) fn table(checked: &[Checked], deny_lints: bool, ink: Ink) -> String {
    let mut text = String::new();
    for Checked { file, found } in checked {
        match found {
            Ok(Sound { rules, lints }) => {
                for lint in lints {
                    let _ = writeln!(text, "{}", lint_text(file, lint, deny_lints, ink));
                }
                let sum = format!("{}, {}", counted(*rules, "rule"), counted(lints.len(), "lint"));
                let is_good = lints.is_empty() || !deny_lints;
                let verdict =
                    if is_good { ink.admitted("good") } else { ink.denied("refused (--deny-lints)") };
                let _ = writeln!(text, "{}: {verdict}: {sum}", ink.heading(file));
            }
            // Told on stderr.
            Err(Unsound::Unread(_)) => {}
            Err(Unsound::Unenforceable(error)) => {
                let _ = writeln!(text, "{}: {}: {error}", ink.heading(file), ink.denied("refused"));
            }
            Err(Unsound::Mistakes(mistakes)) => {
                let _ = writeln!(text, "{}\n", mistakes_text::painted(mistakes, ink));
                let sum = counted(mistakes.count(), "mistake");
                let _ = writeln!(text, "{}: {}: {sum}", ink.heading(file), ink.denied("refused"));
            }
        }
    }
    text
}

/// The place and what is found, then what to write instead.
fn lint_text(file: &str, lint: &Lint, deny_lints: bool, ink: Ink) -> String {
    let place = ink.heading(&format!("{file}:{}:", lint.line));
    let rule = lint.rule.as_ref().map_or_else(String::new, |rule| format!(" rule `{rule}`:"));
    let name = format!("[{}]", lint.kind);
    let name = if deny_lints { ink.denied(&name) } else { ink.balance(&name) };
    format!("{place}{rule} {} {name}\n  {} {}\n", lint.message, ink.faint("= cure:"), lint.cure)
}

/// `1 rule`, `no lints`, `7 mistakes`.
fn counted(number: usize, noun: &str) -> String {
    match number {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[derive(Serialize)]
struct FileEntry<'r> {
    file: &'r str,
    good: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<usize>,
    /// Why it cannot be read, or why the limiter refuses it though it has no mistake.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    mistakes: Vec<MistakeEntry<'r>>,
    lints: Vec<LintEntry<'r>>,
}

#[derive(Serialize)]
struct MistakeEntry<'r> {
    line: u32,
    column: u32,
    field: &'r str,
    what: &'r str,
    cure: &'r str,
}

#[derive(Serialize)]
struct LintEntry<'r> {
    lint: String,
    rule: Option<&'r str>,
    line: u32,
    message: &'r str,
    cure: &'r str,
}

/// For machines: a list with an object for each file that was given.
pub(super) fn json(checked: &[Checked], deny_lints: bool) -> String {
    let files: Vec<FileEntry<'_>> = checked.iter().map(|file| entry(file, deny_lints)).collect();
    format::json(&files)
}

fn entry(checked: &Checked, deny_lints: bool) -> FileEntry<'_> {
    let (rules, mistakes, lints) = match &checked.found {
        Ok(Sound { rules, lints }) => (Some(*rules), Vec::new(), lints.iter().map(lint_entry).collect()),
        Err(Unsound::Mistakes(mistakes)) => (None, mistakes.iter().map(mistake_entry).collect(), Vec::new()),
        Err(Unsound::Unread(_) | Unsound::Unenforceable(_)) => (None, Vec::new(), Vec::new()),
    };
    let error = match &checked.found {
        Err(Unsound::Unread(unread)) => Some(unread.why()),
        Err(Unsound::Unenforceable(error)) => Some(error.to_string()),
        _ => None,
    };
    FileEntry { file: &checked.file, good: checked.is_good(deny_lints), rules, error, mistakes, lints }
}

fn mistake_entry(mistake: &Mistake) -> MistakeEntry<'_> {
    let Mistake { line, column, field, what, cure, .. } = mistake;
    MistakeEntry { line: *line, column: *column, field, what, cure }
}

fn lint_entry(lint: &Lint) -> LintEntry<'_> {
    LintEntry {
        lint: lint.kind.to_string(),
        rule: lint.rule.as_deref(),
        line: lint.line,
        message: &lint.message,
        cure: &lint.cure,
    }
}
