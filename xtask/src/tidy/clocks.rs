//! Rule `clocks`: time is an argument. Clippy bans the calls by name; this rule also sees through an `allow`.

use super::offence::Offence;
use super::repository::SourceFile;
use super::tokens;

const TOKENS: [&str; 3] = ["Instant::now", "SystemTime::now", "thread::sleep"];
const CURE: &str = "take a `Moment` as an argument; only crates/tollgate/src/clock.rs reads a clock";

/// Clock reads and sleeps where time should have been an argument.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    let bound = files.iter().filter(|file| !may_read_a_clock(file));
    bound.flat_map(|file| tokens::offences(file, &TOKENS, CURE)).collect()
}

/// The clock itself, the one that dates records, the tools that measure, and the tests that are about wall time.
fn may_read_a_clock(file: &SourceFile) -> bool {
    let places = [
        "crates/tollgate/src/clock.rs",
        "crates/tollgate/src/clock/",
        "crates/records/src/clock.rs",
        "bench/",
        "xtask/",
    ];
    places.iter().any(|place| file.path.starts_with(place)) || is_test_of_wall_time(&file.path)
}

/// `tests/timing….rs`, `tests/heavy….rs`, or a file in a folder of such a name.
fn is_test_of_wall_time(path: &str) -> bool {
    path.match_indices("/tests/").any(|(at, tests)| {
        let name = &path[at + tests.len()..];
        name.starts_with("timing") || name.starts_with("heavy")
    })
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, check};

    fn offences_of(path: &str) -> usize {
        check(&[SourceFile::new(path, "fn f() { let t = std::time::Instant::now(); }")]).len()
    }

    #[test]
    fn a_clock_read_is_found_where_time_is_an_argument() {
        assert_eq!(offences_of("crates/core/src/decide.rs"), 1);
        assert_eq!(offences_of("crates/tollgate/src/limiter.rs"), 1);
        assert_eq!(offences_of("crates/tollgate/tests/limiter.rs"), 1);
    }

    #[test]
    fn the_clock_the_tools_and_the_tests_of_wall_time_may_read_one() {
        assert_eq!(offences_of("crates/tollgate/src/clock.rs"), 0);
        assert_eq!(offences_of("crates/tollgate/src/clock/tsc.rs"), 0);
        assert_eq!(offences_of("crates/tollgate/tests/timing.rs"), 0);
        assert_eq!(offences_of("crates/tollgate/tests/heavy/flood.rs"), 0);
        assert_eq!(offences_of("bench/src/main.rs"), 0);
    }
}
