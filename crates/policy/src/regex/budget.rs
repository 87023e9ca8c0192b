//! Bounds for all regexes and globs of one policy together: their number, their memory and the time to compile them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Regex, RegexFault};

/// Most different regexes and globs of a policy.
const PATTERNS_MAX: usize = 10_000;
/// Most memory of all DFAs of a policy.
const PATTERNS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Most steps to build all DFAs of a policy: states of the NFA times states of the DFA. About a second in all.
const BUILD_STEPS_MAX: usize = 64 * 1024 * 1024;
/// Steps that count for a regex whose DFA was given up, so that at most 16 are tried.
pub(super) const STEPS_OF_REFUSED: usize = BUILD_STEPS_MAX / 16;
/// Steps that count for each class in Unicode mode, of faulty regexes too.
pub(super) const STEPS_OF_UNICODE_CLASS: usize = BUILD_STEPS_MAX / 1_024;

/// Asks the thread that reads a policy to stop. Clones ask the same thread.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop. Reading ends before the next rule or regex, and the policy is refused.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `true` after [`Stop::request`].
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Remaining budget for the patterns of a policy while it is read. Each different text is compiled once.
#[derive(Debug, Default)]
pub(crate) struct PatternBudget {
    stop: Stop,
    compiled: RefCell<HashMap<Box<str>, Result<Regex, RegexFault>>>,
    bytes: Cell<usize>,
    steps: Cell<usize>,
}

/// Why there is no regex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The regex itself is at fault.
    Fault(RegexFault),
    /// The policy has used up a bound: what is wrong.
    Spent(String),
    /// Reading is to end.
    Stopped,
}

impl PatternBudget {
    /// The whole budget of a policy, until `stop` is requested.
    pub(crate) fn until(stop: Stop) -> PatternBudget {
        PatternBudget { stop, ..PatternBudget::default() }
    }

    /// Returns `true` if reading is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_requested()
    }

    /// Compiles a regex, or returns the one that was compiled from this text before.
    pub(crate) fn compile(&self, text: &str) -> Result<Regex, Refusal> {
        if let Some(known) = self.compiled.borrow().get(text) {
            return known.clone().map_err(Refusal::Fault);
        }
        self.check()?;
        let mut steps = self.steps.get();
        let compiled = Regex::compile(text, &mut steps);
        self.steps.set(steps);
        self.bytes.set(self.bytes.get() + compiled.as_ref().map_or(0, Regex::bytes));
        self.compiled.borrow_mut().insert(text.into(), compiled.clone());
        compiled.map_err(Refusal::Fault)
    }

    /// An error if nothing is left, or reading is to end.
    fn check(&self) -> Result<(), Refusal> {
        if self.is_stopped() {
            return Err(Refusal::Stopped);
        }
        let spent = |what: String| Err(Refusal::Spent(what));
        if self.compiled.borrow().len() >= PATTERNS_MAX {
            return spent(format!("the policy has more than {PATTERNS_MAX} different regexes and globs"));
        }
        if self.bytes.get() >= PATTERNS_BYTES_MAX {
            return spent(format!(
                "the regexes and globs of the policy need tables of more than {PATTERNS_BYTES_MAX} bytes in all"
            ));
        }
        if self.steps.get() >= BUILD_STEPS_MAX {
            return spent("the regexes and globs of the policy take too long to compile".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled_until_spent(pattern: impl Fn(usize) -> String) -> (usize, String) {
        let budget = PatternBudget::default();
        let mut tried = 0;
        loop {
            match budget.compile(&pattern(tried)) {
                Err(Refusal::Spent(what)) => return (tried, what),
                Ok(_) | Err(Refusal::Fault(_) | Refusal::Stopped) => tried += 1,
            }
        }
    }

    #[test]
    fn sixteen_regexes_that_are_too_large_are_the_last_to_be_tried() {
        let (tried, what) = compiled_until_spent(|at| format!("a.{{0,{}}}b.{{0,300}}c", 300 + at));
        assert_eq!(
            (tried, what.as_str()),
            (16, "the regexes and globs of the policy take too long to compile")
        );
    }

    #[test]
    fn faulty_regexes_use_up_the_budget() {
        for faulty in [r"(?u)\b\w", r"(?u)\w\pL"] {
            let (tried, what) = compiled_until_spent(|at| format!("{faulty}{at}"));
            assert!(tried <= 1_024, "{tried} of {faulty}");
            assert_eq!(what, "the regexes and globs of the policy take too long to compile");
        }
    }

    #[test]
    fn nothing_is_compiled_after_a_stop() {
        let stop = Stop::default();
        let budget = PatternBudget::until(stop.clone());
        assert!(budget.compile("bot").is_ok());
        stop.request();
        assert_eq!(budget.compile("crawl").unwrap_err(), Refusal::Stopped);
    }

    #[test]
    fn the_number_of_different_patterns_is_bounded() {
        let (tried, what) = compiled_until_spent(|at| format!("^{at}$"));
        assert_eq!(tried, PATTERNS_MAX);
        assert!(what.contains("10000 different"), "{what}");
    }

    #[test]
    fn the_memory_of_all_patterns_is_bounded() {
        let budget = PatternBudget::default();
        let bytes = budget.compile("(?i)bot").unwrap().bytes();
        assert_eq!(budget.bytes.get(), bytes);
        budget.bytes.set(PATTERNS_BYTES_MAX);
        assert!(budget.compile("(?i)bot").is_ok(), "it is compiled already");
        let Err(Refusal::Spent(what)) = budget.compile("crawl") else { panic!("nothing is left") };
        assert_eq!(
            what,
            "the regexes and globs of the policy need tables of more than 33554432 bytes in all"
        );
    }

    #[test]
    fn the_same_text_is_compiled_once() {
        let budget = PatternBudget::default();
        let first = budget.compile("(?i)bot").unwrap();
        for _ in 0..100 {
            assert!(std::ptr::eq(budget.compile("(?i)bot").unwrap().as_str(), first.as_str()));
        }
        assert_eq!(budget.bytes.get(), first.bytes());
    }
}
