//! Rule `embedded`: `tollgate` with default features off pulls few crates and no C.

use std::collections::BTreeSet;

use crate::metadata::{DependencyKind, Metadata, Package};
use crate::problem::Problem;
use crate::workspace::Workspace;

use super::offence::Offence;

const CRATES_MAX: usize = 3;
const MANIFEST: &str = "crates/tollgate/Cargo.toml";
/// Build-dependencies that compile or find C.
const C_BUILDERS: [&str; 4] = ["cc", "cmake", "bindgen", "pkg-config"];

/// Name and version of packages.
type Pulled = BTreeSet<(String, String)>;

/// Asks cargo what the bare library pulls in and judges it. If cargo cannot tell, the rule is broken.
pub(super) fn check(workspace: &Workspace, members: &Metadata) -> Vec<Offence> {
    if !members.has("tollgate") {
        return Vec::new();
    }
    match ask_cargo(workspace) {
        Ok((pulled, packages)) => judge(&pulled, &packages),
        Err(problem) => vec![Offence::of_file("Cargo.lock", problem.to_string())],
    }
}

/// What the bare library pulls, and all packages there are.
fn ask_cargo(workspace: &Workspace) -> Result<(Pulled, Vec<Package>), Problem> {
    let tree = ["tree", "--package", "tollgate", "--no-default-features", "--edges", "normal,build"];
    let tree = workspace.cargo(tree).args(["--prefix", "none", "--locked"]).read()?;
    Ok((pulled_by(&tree), Metadata::of_everything(workspace)?.packages))
}

/// Name and version of every package in the tree, `tollgate` itself left out.
fn pulled_by(tree: &str) -> Pulled {
    let packages = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned()))
    });
    packages.filter(|(name, _)| name != "tollgate").collect()
}

fn judge(pulled: &Pulled, packages: &[Package]) -> Vec<Offence> {
    let mut offences = Vec::new();
    if pulled.len() > CRATES_MAX {
        let names: Vec<&str> = pulled.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!(
            "default features off, it pulls {} crates ({}), {CRATES_MAX} are allowed; put the new one behind a feature",
            pulled.len(),
            names.join(", ")
        );
        offences.push(Offence::of_file(MANIFEST, message));
    }
    let is_pulled = |package: &&Package| pulled.contains(&(package.name.clone(), package.version.clone()));
    for package in packages.iter().filter(is_pulled) {
        if let Some(reason) = needs_c(package) {
            let cure = "put it behind a feature or find one in Rust";
            offences.push(Offence::of_file(
                MANIFEST,
                format!("pulls `{}`, which {reason}; {cure}", package.name),
            ));
        }
    }
    offences
}

fn needs_c(package: &Package) -> Option<String> {
    if let Some(library) = &package.links {
        return Some(format!("links `{library}`"));
    }
    let mut builders =
        package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Build);
    let builder = builders.find(|dependency| C_BUILDERS.contains(&dependency.name.as_str()))?;
    Some(format!("builds with `{}`", builder.name))
}

#[cfg(test)]
mod tests {
    use super::{DependencyKind, Package, judge, pulled_by};
    use crate::metadata::Dependency;

    const TREE: &str = "tollgate v0.1.0 (/repo/crates/tollgate)\ntollgate-core v0.1.0 (/repo/crates/core)\n\
                        siphasher v1.0.4\nsiphasher v1.0.4 (*)\n";

    fn package(name: &str, links: Option<&str>, builder: Option<&str>) -> Package {
        let kind = DependencyKind::Build;
        let dependencies = builder.map(|name| Dependency { name: name.to_owned(), kind });
        Package {
            name: name.to_owned(),
            version: "1.0.4".to_owned(),
            manifest: String::new(),
            links: links.map(str::to_owned),
            dependencies: dependencies.into_iter().collect(),
            targets: Vec::new(),
        }
    }

    #[test]
    fn a_package_counts_once_and_the_library_itself_not_at_all() {
        assert_eq!(pulled_by(TREE).len(), 2);
        assert_eq!(judge(&pulled_by(TREE), &[package("siphasher", None, Some("autocfg"))]), []);
    }

    #[test]
    fn a_fourth_crate_is_one_too_many() {
        let tree = format!("{TREE}a v1.0.0\nb v1.0.0\n");
        let found = judge(&pulled_by(&tree), &[]);
        assert!(
            found[0].to_string().contains("pulls 4 crates (a, b, siphasher, tollgate-core), 3 are allowed")
        );
    }

    #[test]
    fn a_crate_that_needs_c_is_an_offence_only_if_it_is_pulled() {
        let links = package("siphasher", Some("sip"), None);
        assert!(judge(&pulled_by(TREE), &[links])[0].to_string().contains("which links `sip`"));
        let builds = package("siphasher", None, Some("cc"));
        assert!(judge(&pulled_by(TREE), &[builds])[0].to_string().contains("which builds with `cc`"));
        assert_eq!(judge(&pulled_by(TREE), &[package("zlib", Some("z"), Some("cc"))]), []);
    }
}
