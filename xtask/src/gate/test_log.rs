//! Counts the tests of a `cargo test` run from what libtest prints.
//!
//! A test binary that dies without its result line counts as one failed test.

use super::tally::Tally;

/// Reads the lines of one `cargo test` run, which may start many test binaries.
#[derive(Default)]
pub(super) struct TestLog {
    tally: Tally,
    /// A binary has announced its tests and not yet its result.
    awaiting_result: bool,
}

impl TestLog {
    /// Takes in one line of stdout.
    pub(super) fn see(&mut self, line: &str) {
        if announces_tests(line) {
            self.close_binary();
            self.awaiting_result = true;
        } else if let Some(result) = result(line) {
            self.tally += result;
            self.awaiting_result = false;
        }
    }

    /// The counts, given whether cargo ended well. A run that ended badly has at least one failure.
    pub(super) fn finish(mut self, success: bool) -> Tally {
        self.close_binary();
        if !success && self.tally.failed == 0 {
            self.tally.failed = 1;
        }
        self.tally
    }

    fn close_binary(&mut self) {
        if self.awaiting_result {
            self.tally.failed += 1;
        }
        self.awaiting_result = false;
    }
}

/// `running 12 tests`
fn announces_tests(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(|rest| rest.split_once(' '));
    count.is_some_and(|(count, rest)| count.parse::<usize>().is_ok() && matches!(rest, "test" | "tests"))
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`,
/// perhaps after something that a test printed without a newline.
fn result(line: &str) -> Option<Tally> {
    let (_, result) = line.split_once("test result: ")?;
    let counts = result.strip_prefix("ok. ").or_else(|| result.strip_prefix("FAILED. "))?;
    let count_of = |what: &str| {
        let mut counts = counts.split(';').filter_map(|count| count.trim().split_once(' '));
        counts.find(|(_, name)| *name == what)?.0.parse::<usize>().ok()
    };
    Some(Tally { passed: count_of("passed")?, failed: count_of("failed")?, skipped: count_of("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::{Tally, TestLog};

    fn check(log: &str, success: bool, expected: (usize, usize, usize)) {
        let mut test_log = TestLog::default();
        log.lines().for_each(|line| test_log.see(line));
        let (passed, failed, skipped) = expected;
        assert_eq!(test_log.finish(success), Tally { passed, failed, skipped });
    }

    #[test]
    fn the_results_of_all_binaries_add_up() {
        let log = "\
running 3 tests
test a ... ok
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
test b ... FAILED
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        check(log, false, (2, 1, 1));
    }

    #[test]
    fn a_binary_that_dies_without_a_result_is_one_failure() {
        let log = "\
running 3 tests
test a ... ok
running 1 test
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        check(log, false, (1, 1, 0));
        check("running 1 test\ntest a has been running for over 60 seconds", false, (0, 1, 0));
    }

    #[test]
    fn a_run_that_ends_badly_is_never_free_of_failures() {
        check("", false, (0, 1, 0));
        check("", true, (0, 0, 0));
    }

    #[test]
    fn a_result_after_a_tests_own_words_is_found() {
        let glued = "running 1 test\n50 % donetest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured";
        check(glued, true, (1, 0, 0));
        check("running 3 tests of the meter", true, (0, 0, 0));
    }
}
