//! Regular expressions and globs with a bounded worst case.
//!
//! ```text
//!  text ─► syntax tree ─► NFA (at most 128 KiB) ─► DFA (at most 256 KiB) ─► one table look-up per byte of a value
//! ```
//! A match reads each byte at most once, keeps no cache, allocates nothing and reads at most [`REGEX_INPUT_BYTES_MAX`] bytes.
//! The time of a match therefore depends on the length of the value alone. Regexes whose DFA is too large are refused.
//!
//! Regexes work on bytes: `.`, `\w`, `\d`, `\s`, `\b` and `(?i)` know ASCII. `(?u)` switches Unicode on.

mod budget;
mod fault;
mod unicode_classes;
mod worst_case;

use std::fmt;
use std::sync::Arc;

use regex_automata::Input;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_syntax::hir::Hir;
use regex_syntax::hir::translate::TranslatorBuilder;

pub use budget::Stop;
pub(crate) use budget::{PatternBudget, Refusal};
pub use fault::RegexFault;

/// Bytes of a value that a regex or a glob reads at most.
pub const REGEX_INPUT_BYTES_MAX: usize = 1_024;
/// Largest DFA of one regex or glob.
pub const REGEX_BYTES_MAX: usize = 256 * 1024;
/// Largest NFA that a DFA is built from.
const NFA_BYTES_MAX: usize = 128 * 1024;
/// Most memory that building one DFA takes beside the DFA itself, times the classes of bytes that the NFA tells apart. The product
/// grows as the time of a build; this one takes about a tenth of a second.
const SCRATCH_TIMES_CLASSES_MAX: usize = 4 * 1024 * 1024;
/// Most classes of one regex in Unicode mode. Each takes up to some milliseconds to translate.
const UNICODE_CLASSES_MAX: usize = 32;
/// Deepest nesting of groups.
const NESTING_MAX: u32 = 50;

/// A compiled regular expression. A clone shares the DFA.
#[derive(Clone)]
pub struct Regex(Arc<Compiled>);

struct Compiled {
    text: Box<str>,
    dfa: dense::DFA<Vec<u32>>,
    bytes_read_max: usize,
}

impl Regex {
    /// Compiles a regex that matches anywhere in a value unless it is anchored.
    pub fn new(text: &str) -> Result<Regex, RegexFault> {
        Regex::compile(text, &mut 0)
    }

    /// Compiles a regex, and adds to `steps` what it took, also where the regex is refused.
    fn compile(text: &str, steps: &mut usize) -> Result<Regex, RegexFault> {
        let ast = regex_syntax::ast::parse::ParserBuilder::new().nest_limit(NESTING_MAX).build().parse(text);
        let ast = ast.map_err(|error| RegexFault::syntax(error.kind().to_string()))?;
        let classes = unicode_classes::count(&ast);
        if classes > UNICODE_CLASSES_MAX {
            return Err(RegexFault::ManyUnicodeClasses { classes });
        }
        *steps += classes * budget::STEPS_OF_UNICODE_CLASS;
        let hir = TranslatorBuilder::new().unicode(false).utf8(false).build().translate(text, &ast);
        let hir = hir.map_err(|error| RegexFault::of_translation(error.kind()))?;
        if hir.properties().look_set().contains_word_unicode() {
            return Err(RegexFault::UnicodeWordBoundary);
        }
        let built = nfa(&hir).and_then(|nfa| Some((nfa.states().len(), dfa(&nfa)?)));
        let Some((nfa_states, dfa)) = built else {
            *steps += budget::STEPS_OF_REFUSED;
            return Err(RegexFault::too_large(text, &ast));
        };
        *steps += nfa_states * (dfa.memory_usage() / dfa.stride() / size_of::<u32>());
        let bytes_read_max = worst_case::bytes_read_max(&dfa);
        Ok(Regex(Arc::new(Compiled { text: text.into(), bytes_read_max, dfa })))
    }

    /// Returns `true` if the first [`REGEX_INPUT_BYTES_MAX`] bytes of the value hold a match. `$` means the end of the whole value.
    pub fn is_match(&self, value: impl AsRef<[u8]>) -> bool {
        let value = value.as_ref();
        let end = value.len().min(REGEX_INPUT_BYTES_MAX);
        let input = Input::new(value).range(..end).earliest(true);
        // No byte makes this DFA give up, and it has a start state for unanchored searches: there is no error.
        self.0.dfa.try_search_fwd(&input).is_ok_and(|found| found.is_some())
    }

    /// Returns the text that the regex was compiled from.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Returns how many bytes of the worst value a match reads: [`REGEX_INPUT_BYTES_MAX`], or less if the regex is anchored and short.
    pub fn bytes_read_max(&self) -> usize {
        self.0.bytes_read_max
    }

    /// Returns the size of the DFA in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.dfa.memory_usage()
    }
}

/// The NFA, unless it is too large.
fn nfa(hir: &Hir) -> Option<NFA> {
    let config = thompson::Config::new()
        .utf8(false)
        .nfa_size_limit(Some(NFA_BYTES_MAX))
        .which_captures(WhichCaptures::None);
    thompson::Compiler::new().configure(config).build_from_hir(hir).ok()
}

/// The DFA, unless it is too large or takes too long to build.
fn dfa(nfa: &NFA) -> Option<dense::DFA<Vec<u32>>> {
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .accelerate(false)
        .dfa_size_limit(Some(REGEX_BYTES_MAX))
        .determinize_size_limit(Some(SCRATCH_TIMES_CLASSES_MAX / nfa.byte_classes().alphabet_len()));
    dense::Builder::new().configure(config).build_from_nfa(nfa).ok()
}

/// The text alone: a DFA is thousands of numbers.
impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Regex").field(&self.as_str()).finish()
    }
}

#[cfg(test)]
mod tests;
