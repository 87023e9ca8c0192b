//! Why a regex is refused, and what to write instead.

use std::convert::Infallible;
use std::fmt;

use regex_syntax::ast::{self, Ast, RepetitionKind, RepetitionRange, Visitor};
use regex_syntax::hir;

use super::REGEX_BYTES_MAX;

/// Why a regex is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegexFault {
    /// The text is not a regex.
    Syntax {
        /// Why not.
        what: String,
        /// In Unicode mode it would be one.
        needs_unicode: bool,
    },
    /// `(?u)\b` needs more than a DFA.
    UnicodeWordBoundary,
    /// Too many classes in Unicode mode, also within others: they take long to translate. `[\w-]` is two.
    ManyUnicodeClasses {
        /// How many.
        classes: usize,
    },
    /// The DFA would be larger than [`REGEX_BYTES_MAX`], or take too long to build.
    TooLarge {
        /// What to write instead.
        fix: String,
    },
}

/// What is wrong, and the fix.
impl fmt::Display for RegexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.fix())
    }
}

impl std::error::Error for RegexFault {}

impl RegexFault {
    pub(super) fn syntax(what: String) -> RegexFault {
        RegexFault::Syntax { what, needs_unicode: false }
    }

    pub(super) fn of_translation(kind: &hir::ErrorKind) -> RegexFault {
        let needs_unicode = matches!(kind, hir::ErrorKind::UnicodeNotAllowed);
        RegexFault::Syntax { what: kind.to_string(), needs_unicode }
    }

    pub(super) fn too_large(text: &str, ast: &Ast) -> RegexFault {
        RegexFault::TooLarge { fix: smaller(text, ast) }
    }

    /// What is wrong, for the message.
    pub(crate) fn what(&self) -> String {
        match self {
            RegexFault::Syntax { what, .. } => format!("invalid regex: {what}"),
            RegexFault::UnicodeWordBoundary => "this regex has a word boundary in Unicode mode".to_owned(),
            RegexFault::ManyUnicodeClasses { classes } => {
                format!("this regex has {classes} classes in Unicode mode")
            }
            RegexFault::TooLarge { .. } => {
                format!(
                    "this regex needs a table of more than {REGEX_BYTES_MAX} bytes, or takes too long to compile"
                )
            }
        }
    }

    /// What to write instead.
    pub(crate) fn fix(&self) -> &str {
        match self {
            RegexFault::Syntax { needs_unicode: true, .. } => {
                "put `(?u)` in front: without it a regex matches bytes"
            }
            RegexFault::Syntax { .. } => "fix the syntax; escape special characters with a backslash",
            RegexFault::UnicodeWordBoundary => r"write `(?-u:\b)`",
            RegexFault::ManyUnicodeClasses { .. } => "write at most 32, or delete `(?u)`",
            RegexFault::TooLarge { fix } => fix,
        }
    }
}

/// The fix for a regex that is too large: its largest counted repetition, and the same without a count.
fn smaller(text: &str, ast: &Ast) -> String {
    let Ok(Largest { found }) = ast::visit(ast, Largest::default());
    let Some(Counted { part, whole, range, .. }) = found else {
        return "write a shorter regex, several rules, or a list of values".to_owned();
    };
    let slice = |span: ast::Span| text.get(span.start.offset..span.end.offset).unwrap_or_default();
    let (part, whole) = (slice(part), slice(whole));
    match range {
        RepetitionRange::Bounded(0, _) => format!("write `{part}*` instead of `{whole}`"),
        RepetitionRange::Bounded(1, _) => format!("write `{part}+` instead of `{whole}`"),
        _ => format!("use a smaller count than `{whole}`"),
    }
}

/// Finds the repetition with the largest count.
#[derive(Default)]
struct Largest {
    found: Option<Counted>,
}

struct Counted {
    count: u32,
    part: ast::Span,
    whole: ast::Span,
    range: RepetitionRange,
}

impl Visitor for Largest {
    type Output = Largest;
    type Err = Infallible;

    fn finish(self) -> Result<Largest, Infallible> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        let Ast::Repetition(repetition) = ast else { return Ok(()) };
        let RepetitionKind::Range(range) = &repetition.op.kind else { return Ok(()) };
        let (RepetitionRange::Exactly(count)
        | RepetitionRange::AtLeast(count)
        | RepetitionRange::Bounded(_, count)) = *range;
        if self.found.as_ref().is_none_or(|found| found.count < count) {
            let (part, whole) = (*repetition.ast.span(), repetition.span);
            self.found = Some(Counted { count, part, whole, range: range.clone() });
        }
        Ok(())
    }
}
