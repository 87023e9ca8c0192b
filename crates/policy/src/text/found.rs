//! What is wrong so far. Reading goes on after every mistake.

use std::rc::Rc;

use super::tree::{Node, Place};
use crate::regex::PatternBudget;

/// So many mistakes are kept; of the rest we know the number.
const KEPT_MAX: usize = 1_000;

/// The fix for a policy that has used up the budget of its patterns.
pub(super) const PATTERNS_FIX: &str =
    "use fewer or shorter regexes and globs; replace alternatives by one list of values";

/// Mistakes found, in the order of finding.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) kept: Vec<Fault>,
    pub(super) left_out: usize,
    /// What is left for regexes and globs; shared by all sources of a policy.
    pub(super) patterns: Rc<PatternBudget>,
    /// What [`Found::add_once`] has added.
    is_added_once: bool,
}

/// One mistake, while the text is at hand.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) what: String,
    pub(super) cure: String,
    /// It is about the mapping or list as a whole, although the place is that of its first part.
    pub(super) is_of_whole: bool,
}

impl Found {
    /// Nothing yet, for a source of the policy that has this budget.
    pub(super) fn within(patterns: &Rc<PatternBudget>) -> Found {
        Found { patterns: Rc::clone(patterns), ..Found::default() }
    }

    /// Nothing is wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Something is wrong at a place: what it is, and what to write instead.
    pub(super) fn add(&mut self, place: Place, what: impl Into<String>, cure: impl Into<String>) {
        self.push(Fault { place, what: what.into(), cure: cure.into(), is_of_whole: false });
    }

    /// Something is wrong that holds for all that follows, too: shown at the first place, counted at the others.
    pub(super) fn add_once(&mut self, place: Place, what: impl Into<String>, cure: impl Into<String>) {
        if std::mem::replace(&mut self.is_added_once, true) {
            self.count_one();
        } else {
            self.add(place, what, cure);
        }
    }

    /// Returns `true` if reading is to end; the first time, that is added as what is wrong.
    pub(super) fn is_stopped(&mut self, place: Place) -> bool {
        let is_stopped = self.patterns.is_stopped();
        if is_stopped {
            self.note_stop(place);
        }
        is_stopped
    }

    /// Adds that reading stopped; once.
    pub(super) fn note_stop(&mut self, place: Place) {
        self.add_once(
            place,
            "reading stopped: the time limit was reached or the client disconnected",
            "try again with fewer rules",
        );
    }

    /// Something is wrong with what begins at a place, not with its first part.
    pub(super) fn add_to_whole(&mut self, place: Place, what: impl Into<String>, cure: impl Into<String>) {
        self.push(Fault { place, what: what.into(), cure: cure.into(), is_of_whole: true });
    }

    /// No more are kept, so what they would say need not be worked out.
    pub(super) fn is_full(&self) -> bool {
        self.kept.len() == KEPT_MAX
    }

    /// One more that nobody will read.
    pub(super) fn count_one(&mut self) {
        self.left_out += 1;
    }

    /// How many there are, kept or not.
    pub(super) fn count(&self) -> usize {
        self.kept.len() + self.left_out
    }

    fn push(&mut self, fault: Fault) {
        if self.is_full() {
            self.count_one();
        } else {
            self.kept.push(fault);
        }
    }

    /// The value of `field` is not what it should be.
    pub(super) fn unfit(&mut self, node: &Node<'_>, field: &str, wanted: &str, cure: impl Into<String>) {
        let is_broken = matches!(node.kind, super::tree::Kind::Broken);
        if !is_broken {
            self.add(node.head(), format!("`{field}` is {}, not {wanted}", node.described()), cure);
        }
    }
}
