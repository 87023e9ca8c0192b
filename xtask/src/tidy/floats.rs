//! Rule `floats`: the arithmetic of core is exact, so floats stop at its door.

use super::offence::Offence;
use super::repository::SourceFile;
use super::tokens;

const CURE: &str = "core counts in integers; convert at the door, in a file named from_float.rs";

/// Float types in core, outside the files that convert them.
pub(super) fn check(files: &[SourceFile]) -> Vec<Offence> {
    let core = files.iter().filter(|file| file.path.starts_with("crates/core/src/"));
    let exact = core.filter(|file| file.name() != "from_float.rs");
    exact.flat_map(|file| tokens::offences(file, &["f32", "f64"], CURE)).collect()
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, check};

    #[test]
    fn floats_stop_at_the_door_of_core() {
        let offences_of = |path| check(&[SourceFile::new(path, "fn rate(x: f64) {}")]).len();
        assert_eq!(offences_of("crates/core/src/rate.rs"), 1);
        assert_eq!(offences_of("crates/core/src/rate/from_float.rs"), 0);
        assert_eq!(offences_of("crates/sim/src/chart.rs"), 0);
    }
}
