//! Regexes and globs that together take long for one request.
//!
//! The time is computed from the tables of the regexes, not measured: it is the same on every machine. A timing test holds the figure
//! against the clock.

use super::{Book, Lint, LintKind};
use crate::PATTERNS_READ_BYTES_MAX;

/// Bytes of one request that regexes and globs may read without a warning: those of 100 regexes that are not anchored.
const READ_BYTES_MAX: usize = PATTERNS_READ_BYTES_MAX / 10;
/// Time for one byte, in nanoseconds, on a processor of 2020.
const NANOS_PER_BYTE: usize = 2;

const CURE: &str = "write fewer of them, begin them with `^`, or give their rules a `path`";

/// `slow-patterns`, at the first rule with which the worst request takes too long.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let worst = book.policy.worst_request();
    if worst.bytes <= READ_BYTES_MAX {
        return;
    }
    let mut sum = 0;
    let crossing = worst.rules.iter().find(|(_, bytes)| {
        sum += bytes;
        sum > READ_BYTES_MAX
    });
    // Kill switches count, too; without them no rule may be one too many.
    let Some((position, _)) = crossing.or(worst.rules.last()) else { return };
    let at_fault = book.policy.rules.get(*position);
    let Some(subject) =
        book.rules().find(|subject| at_fault.is_some_and(|rule| std::ptr::eq(rule, subject.rule)))
    else {
        return;
    };
    let message = format!(
        "regexes and globs read up to {} bytes of one request {}, which takes about {} µs",
        worst.bytes,
        worst.place(),
        worst.bytes * NANOS_PER_BYTE / 1_000
    );
    found.push(subject.lint(LintKind::SlowPatterns, message, CURE));
}

#[cfg(test)]
mod tests {
    use crate::{Lint, LintKind, Policy};

    fn lints(regexes: usize, regex: impl Fn(usize) -> String) -> Vec<Lint> {
        let rule = |at| {
            let regex = regex(at);
            format!(
                "{{name: r{at}, action: block, path: /api/*, match: {{'header:x': {{regex: '{regex}'}}}}}}"
            )
        };
        let rules: Vec<_> = (0..regexes).map(rule).collect();
        let policy = Policy::parse("p.yaml", &format!("[{}]", rules.join(", "))).unwrap();
        policy.lints().into_iter().filter(|lint| lint.kind == LintKind::SlowPatterns).collect()
    }

    #[test]
    fn more_than_100_regexes_for_one_request_are_told() {
        assert_eq!(lints(100, |at| format!("x{at}")), []);
        let told: Vec<_> = lints(120, |at| format!("x{at}")).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "line 1: rule `r100`: regexes and globs read up to 122880 bytes of one request below `/api`, which takes about 245 \
              µs; write fewer of them, begin them with `^`, or give their rules a `path` [slow-patterns]"
            ]
        );
    }

    #[test]
    fn anchored_regexes_count_for_what_they_read() {
        assert_eq!(lints(1_000, |at| format!("^x{at}")), []);
    }
}
