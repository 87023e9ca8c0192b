//! Rule `test-targets`: a test target either runs in every `cargo test` or in a step of its own, never in none or both.

use crate::metadata::Package;

use super::offence::Offence;

/// Names that the gate runs in steps of their own: `proof`, `heavy` and `timing` in proofs, `loom` in loom.
const STEPS_OF_THEIR_OWN: [&str; 4] = ["proof", "heavy", "timing", "loom"];

/// Targets whose name and `test = …` setting contradict each other.
pub(super) fn check(packages: &[Package]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for package in packages {
        for target in package.targets_of_kind("test") {
            let name = &target.name;
            let has_own_step = STEPS_OF_THEIR_OWN.iter().any(|step| name.starts_with(step));
            let message = match (has_own_step, target.tested) {
                (true, true) => format!(
                    "test target `{name}` would also run unoptimised in every `cargo test`; declare it with \
                     `[[test]] name = \"{name}\"` and `test = false`"
                ),
                (false, false) => format!(
                    "test target `{name}` has `test = false` and no step runs it; drop that line or give it a name \
                     that starts with {}",
                    STEPS_OF_THEIR_OWN.join(", ")
                ),
                (true, false) | (false, true) => continue,
            };
            offences.push(Offence::of_file(&package.manifest, message));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::{Package, check};
    use crate::metadata::Target;

    fn offences_of(name: &str, tested: bool) -> usize {
        let target = Target { name: name.to_owned(), kind: "test".to_owned(), tested };
        let package = Package {
            name: "tollgate".to_owned(),
            version: "0.1.0".to_owned(),
            manifest: "crates/tollgate/Cargo.toml".to_owned(),
            links: None,
            dependencies: Vec::new(),
            targets: vec![target],
        };
        check(&[package]).len()
    }

    #[test]
    fn every_target_runs_in_exactly_one_step() {
        assert_eq!(offences_of("limiter", true), 0);
        assert_eq!(offences_of("proof_leases", false), 0);
        assert_eq!(offences_of("heavy", false), 0);
        assert_eq!(offences_of("timing_clock", false), 0);
        assert_eq!(offences_of("heavy", true), 1, "runs twice");
        assert_eq!(offences_of("limiter", false), 1, "runs never");
    }
}
