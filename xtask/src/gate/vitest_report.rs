//! Counts the tests of a Vitest run from its JSON report.
//!
//! A file that cannot be loaded has no tests; it counts as one failed test.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::tally::Tally;

/// The counts of the report at `path`, given whether Vitest ended well. A run without a report, or that ended badly, has at least
/// one failure.
pub(super) fn read(path: &Path, success: bool) -> Tally {
    count(&fs::read_to_string(path).unwrap_or_default(), success)
}

fn count(report: &str, success: bool) -> Tally {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let mut tally = Tally::default();
    for file in report["testResults"].as_array().into_iter().flatten() {
        let of_file = count_file(file);
        tally += of_file;
        if file["status"] == "failed" && of_file.failed == 0 {
            tally += Tally::FAILURE;
        }
    }
    if !success && tally.failed == 0 {
        tally += Tally::FAILURE;
    }
    tally
}

fn count_file(file: &Value) -> Tally {
    let mut tally = Tally::default();
    for test in file["assertionResults"].as_array().into_iter().flatten() {
        tally += match test["status"].as_str() {
            Some("passed") => Tally::SUCCESS,
            Some("failed") => Tally::FAILURE,
            _ => Tally::SKIP,
        };
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::{Tally, count};

    #[test]
    fn every_test_counts_once_by_its_status() {
        let report = r#"{"testResults": [
            {"status": "failed", "assertionResults": [{"status": "passed"}, {"status": "failed"}]},
            {"status": "passed", "assertionResults": [{"status": "passed"}, {"status": "skipped"}, {"status": "todo"}]}]}"#;
        assert_eq!(count(report, false), Tally { passed: 2, failed: 1, skipped: 2 });
    }

    #[test]
    fn a_file_that_cannot_be_loaded_is_one_failure() {
        let report = r#"{"testResults": [{"status": "failed", "assertionResults": []}]}"#;
        assert_eq!(count(report, false), Tally::FAILURE);
    }

    #[test]
    fn a_run_that_ends_badly_is_never_free_of_failures() {
        assert_eq!(count("", false), Tally::FAILURE);
        assert_eq!(count("", true), Tally::default());
        let passed = r#"{"testResults": [{"status": "passed", "assertionResults": [{"status": "passed"}]}]}"#;
        assert_eq!(count(passed, false), Tally { passed: 1, failed: 1, skipped: 0 });
    }
}
