//! Rule `arrows`: which crate may depend on which.

use crate::metadata::{Dependency, DependencyKind, Package};

use super::offence::Offence;
use super::repository::SourceFile;

/// One part of the workspace and what it may depend on.
struct Room {
    /// Its folder, from the root.
    folder: &'static str,
    package: &'static str,
    may_use: &'static [&'static str],
}

/// The drawing. `server`, `cli` and `bench` see nearly everything; what they must not see is left out of their lists.
#[rustfmt::skip]
const ROOMS: [Room; 11] = [
    Room { folder: "crates/core",     package: "tollgate-core",    may_use: &[] },
    Room { folder: "crates/policy",   package: "tollgate-policy",  may_use: &["tollgate-core"] },
    Room { folder: "crates/tollgate", package: "tollgate",         may_use: &["tollgate-core", "tollgate-policy"] },
    Room { folder: "crates/tower",    package: "tollgate-tower",   may_use: &["tollgate"] },
    Room { folder: "crates/redis",    package: "tollgate-redis",   may_use: &["tollgate-core", "tollgate"] },
    Room { folder: "crates/records",  package: "tollgate-records", may_use: &["tollgate-policy"] },
    Room { folder: "crates/sim",      package: SIM,                may_use: &["tollgate-core", "tollgate-policy", "tollgate"] },
    Room { folder: "crates/server",   package: "tollgate-server",  may_use: &LIBRARIES },
    Room { folder: "crates/cli",      package: "tollgate-cli",     may_use: &LIBRARIES_AND_SERVER },
    Room { folder: "bench",           package: "tollgate-bench",   may_use: &LIBRARIES },
    Room { folder: "xtask",           package: "xtask",            may_use: &[] },
];

const LIBRARIES: [&str; 7] = [
    "tollgate-core",
    "tollgate-policy",
    "tollgate",
    "tollgate-tower",
    "tollgate-redis",
    "tollgate-records",
    "tollgate-sim",
];

const LIBRARIES_AND_SERVER: [&str; 8] = {
    let [core, policy, tollgate, tower, redis, records, sim] = LIBRARIES;
    [core, policy, tollgate, tower, redis, records, sim, "tollgate-server"]
};

/// The one crate that the tests of any other may use.
const SIM: &str = "tollgate-sim";

/// Every dependency inside the workspace that the drawing does not have, and every crate that is not in it.
pub(super) fn check(packages: &[Package], files: &[SourceFile]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for package in packages {
        let Some(room) = room_of(package) else {
            let cure =
                "is not in the table of xtask/src/tidy/arrows.rs; add its folder, its package and its arrows";
            offences.push(Offence::of_file(&package.manifest, format!("package `{}` {cure}", package.name)));
            continue;
        };
        let forbidden = package.dependencies.iter().filter(|dependency| !allowed(room, dependency));
        offences.extend(forbidden.map(|dependency| offence(room, &package.manifest, dependency, files)));
    }
    offences
}

/// The room at the package's place, if the package also has the room's name.
fn room_of(package: &Package) -> Option<&'static Room> {
    let folder = package.manifest.strip_suffix("/Cargo.toml")?;
    ROOMS.iter().find(|room| room.folder == folder && room.package == package.name)
}

fn allowed(room: &Room, dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    let is_ours = ROOMS.iter().any(|room| room.package == name);
    let is_sim_in_tests = name == SIM && dependency.kind == DependencyKind::Dev;
    !is_ours || is_sim_in_tests || room.may_use.contains(&name)
}

fn offence(room: &Room, manifest: &str, dependency: &Dependency, files: &[SourceFile]) -> Offence {
    let may_use = if room.may_use.is_empty() { "nothing".to_owned() } else { room.may_use.join(", ") };
    let message = format!(
        "`{}` must not depend on `{}`: it may use {may_use} of ours (tests also {SIM}); move the code to where \
         the arrow already points",
        room.package, dependency.name
    );
    let text = files.iter().find(|file| file.path == manifest).map_or("", |file| &file.text);
    let line = text.lines().position(|line| names(line, &dependency.name)).map_or(1, |at| at + 1);
    Offence::at(manifest, line, message)
}

/// Whether this line of a manifest is the one for the dependency.
fn names(line: &str, dependency: &str) -> bool {
    let after = line.trim_start().strip_prefix(dependency);
    after.is_some_and(|after| after.starts_with([' ', '=', '.']))
}

#[cfg(test)]
mod tests {
    use super::{Dependency, DependencyKind, Package, SourceFile, check};

    fn package(name: &str, folder: &str, dependencies: &[(&str, DependencyKind)]) -> Package {
        let dependencies =
            dependencies.iter().map(|&(name, kind)| Dependency { name: name.to_owned(), kind });
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            manifest: format!("{folder}/Cargo.toml"),
            links: None,
            dependencies: dependencies.collect(),
            targets: Vec::new(),
        }
    }

    #[test]
    fn drawn_arrows_and_foreign_crates_pass() {
        let tollgate = [("tollgate-core", DependencyKind::Normal), ("rapidhash", DependencyKind::Normal)];
        let cli = [("tollgate-server", DependencyKind::Normal), ("tollgate-sim", DependencyKind::Normal)];
        let packages =
            [package("tollgate", "crates/tollgate", &tollgate), package("tollgate-cli", "crates/cli", &cli)];
        assert_eq!(check(&packages, &[]), []);
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_shown_at_its_line() {
        let core = package("tollgate-core", "crates/core", &[("tollgate", DependencyKind::Build)]);
        let manifest = SourceFile::new(
            "crates/core/Cargo.toml",
            "[package]\nname = \"tollgate-core\"\n[build-dependencies]\ntollgate.workspace = true\n",
        );
        let found = check(&[core], &[manifest]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].to_string().starts_with("crates/core/Cargo.toml:4: `tollgate-core` must not depend on")
        );
    }

    #[test]
    fn sim_is_for_tests_only() {
        let with = |kind| [package("tollgate-core", "crates/core", &[("tollgate-sim", kind)])];
        assert_eq!(check(&with(DependencyKind::Dev), &[]), []);
        assert_eq!(check(&with(DependencyKind::Normal), &[]).len(), 1);
    }

    #[test]
    fn the_service_never_depends_on_its_command_line() {
        let cli = [("tollgate-cli", DependencyKind::Normal)];
        assert_eq!(check(&[package("tollgate-server", "crates/server", &cli)], &[]).len(), 1);
        assert_eq!(check(&[package("tollgate-bench", "bench", &cli)], &[]).len(), 1);
    }

    #[test]
    fn a_crate_outside_the_drawing_is_an_offence() {
        assert_eq!(check(&[package("tollgate-extra", "crates/extra", &[])], &[]).len(), 1);
        assert_eq!(check(&[package("tollgate-core", "crates/kernel", &[])], &[]).len(), 1);
    }
}
