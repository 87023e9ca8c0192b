//! What is wrong with a policy: all of it, in the order of the file, each with its place and its cure (P9).

use std::fmt;

use super::found::Found;
use super::snippet::Snippet;
use super::tree::Node;

/// So many mistakes are shown; of the others the number is said.
pub(super) const MISTAKES_MAX: usize = 100;

/// Why a policy is refused: every mistake, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    file: Box<str>,
    shown: Vec<Mistake>,
    left_out: usize,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Line of the file, from 1.
    pub line: u32,
    /// Character of the line, from 1.
    pub column: u32,
    /// The field: `rules[1].burst`; empty for the file as a whole.
    pub field: Box<str>,
    /// What was found.
    pub what: Box<str>,
    /// What to write instead.
    pub cure: Box<str>,
    snippet: Snippet,
}

impl Mistakes {
    pub(super) fn new(file: &str, text: &str, tree: Option<&Node<'_>>, found: Found) -> Mistakes {
        let Found { mut kept, mut left_out } = found;
        // Stable: of two at one place, the first found is shown first.
        kept.sort_by_key(|fault| fault.place.start);
        left_out += kept.len().saturating_sub(MISTAKES_MAX);
        kept.truncate(MISTAKES_MAX);
        let mistakes = kept.into_iter().map(|fault| {
            let (snippet, column) = Snippet::of(text, fault.place.start, fault.place.end);
            let mut field = tree.map(|root| root.path_to(fault.place.start)).unwrap_or_default();
            if fault.is_of_whole {
                field.pop();
            }
            Mistake {
                line: fault.place.line,
                column,
                field: field.concat().into(),
                what: fault.what.into(),
                cure: fault.cure.into(),
                snippet,
            }
        });
        Mistakes { file: file.into(), shown: mistakes.collect(), left_out }
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

/// Each with `file:line:column`, the line of the text, and the cure; an empty line between them.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.shown.iter().enumerate() {
            if at > 0 {
                write!(f, "\n\n")?;
            }
            let Mistake { line, column, field, what, cure, snippet } = mistake;
            let margin = " ".repeat(line.to_string().len());
            write!(f, "{}:{line}:{column}: {what}\n{}", self.file, snippet.render(*line))?;
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
