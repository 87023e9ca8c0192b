//! What is wrong with a policy: all of it, by source and in the order of each, with its place and its cure (P9).

use std::fmt;

use crate::Source;

use super::found::{Fault, Found};
use super::snippet::Snippet;
use super::tree::Node;

/// So many mistakes are shown; of the others the number is said.
pub(super) const MISTAKES_MAX: usize = 100;

/// Why a policy is refused: every mistake, in the order of the file, then of entries, rows and orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    file: Box<str>,
    shown: Vec<Mistake>,
    left_out: usize,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Whose mistake it is.
    pub source: Source,
    /// Line of the file or the entry, from 1; 0 of a row or an order, which has fields alone.
    pub line: u32,
    /// Character of the line, from 1; 0 of a row or an order.
    pub column: u32,
    /// The field: `rules[1].burst`, `burst_capacity`; empty for the source as a whole.
    pub field: Box<str>,
    /// What was found.
    pub what: Box<str>,
    /// What to write instead.
    pub cure: Box<str>,
    /// The line, where there are lines.
    snippet: Option<Snippet>,
}

impl Mistakes {
    /// Those of a text, with its tree if it has one.
    pub(super) fn new(file: &str, text: &str, tree: Option<&Node<'_>>, found: Found) -> Mistakes {
        Mistakes::of_text(file, &Source::File, text, tree, found)
    }

    /// Those of the text of an entry, or of the file.
    pub(super) fn of_text(
        file: &str,
        source: &Source,
        text: &str,
        tree: Option<&Node<'_>>,
        found: Found,
    ) -> Mistakes {
        Mistakes::shown(file, found, |fault| {
            let (snippet, column) = Snippet::of(text, fault.place.start, fault.place.end);
            let mut field = tree.map(|root| root.path_to(fault.place.start)).unwrap_or_default();
            if fault.is_of_whole {
                field.pop();
            }
            Mistake {
                source: source.clone(),
                line: fault.place.line,
                column,
                field: field.concat().into(),
                what: fault.what.into(),
                cure: fault.cure.into(),
                snippet: Some(snippet),
            }
        })
    }

    /// Those of a row or an order: places are positions in `fields`.
    pub(super) fn of_fields(file: &str, source: &Source, fields: &[&str], found: Found) -> Mistakes {
        Mistakes::shown(file, found, |fault| Mistake {
            source: source.clone(),
            line: 0,
            column: 0,
            field: fields.get(fault.place.start).copied().unwrap_or_default().into(),
            what: fault.what.into(),
            cure: fault.cure.into(),
            snippet: None,
        })
    }

    fn shown(file: &str, found: Found, told: impl FnMut(Fault) -> Mistake) -> Mistakes {
        let Found { mut kept, mut left_out, .. } = found;
        // Stable: of two at one place, the first found is shown first.
        kept.sort_by_key(|fault| fault.place.start);
        left_out += kept.len().saturating_sub(MISTAKES_MAX);
        kept.truncate(MISTAKES_MAX);
        Mistakes { file: file.into(), shown: kept.into_iter().map(told).collect(), left_out }
    }

    /// None so far.
    pub(super) fn none(file: &str) -> Mistakes {
        Mistakes { file: file.into(), shown: Vec::new(), left_out: 0 }
    }

    /// These as well, behind those that there are.
    pub(super) fn extend(&mut self, other: Mistakes) {
        let room = MISTAKES_MAX.saturating_sub(self.shown.len());
        self.left_out += other.left_out + other.shown.len().saturating_sub(room);
        self.shown.extend(other.shown.into_iter().take(room));
    }

    /// Those that are shown, at least 1 and at most 100.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.shown.iter()
    }

    /// How many there are, with those that are not shown.
    pub fn count(&self) -> usize {
        self.shown.len() + self.left_out
    }
}

/// Each with `file:line:column`, the line of the text, and the cure; an empty line between them. Other sources than the file are
/// called `entry "name"`, `row 7` and `order 12`.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.shown.iter().enumerate() {
            if at > 0 {
                write!(f, "\n\n")?;
            }
            let Mistake { source, line, column, field, what, cure, snippet } = mistake;
            let margin = " ".repeat(line.to_string().len());
            match source {
                Source::File => f.write_str(&self.file)?,
                other => write!(f, "{other}")?,
            }
            match snippet {
                Some(snippet) => write!(f, ":{line}:{column}: {what}\n{}", snippet.render(*line))?,
                None => write!(f, ": {what}")?,
            }
            if !field.is_empty() {
                write!(f, "\n{margin} = field: {field}")?;
            }
            write!(f, "\n{margin} = cure: {cure}")?;
        }
        match self.left_out {
            0 => Ok(()),
            more => write!(f, "\n\n… and {more} more"),
        }
    }
}

impl std::error::Error for Mistakes {}
