//! What `cargo metadata` says about packages, reduced to what the verbs ask for.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::problem::Problem;
use crate::workspace::Workspace;

/// Packages and where cargo builds them.
pub(crate) struct Metadata {
    /// The packages, in cargo's order.
    pub(crate) packages: Vec<Package>,
    /// The folder that cargo builds into; `CARGO_TARGET_DIR` may have moved it.
    pub(crate) target_directory: PathBuf,
}

/// One package, ours or a dependency.
pub(crate) struct Package {
    /// Its name in the registry's sense: `tollgate-core`.
    pub(crate) name: String,
    /// Its version, as text.
    pub(crate) version: String,
    /// Its `Cargo.toml`, from the root of the workspace when it lies inside, else absolute.
    pub(crate) manifest: String,
    /// The native library it says it links, if any.
    pub(crate) links: Option<String>,
    /// What it asks for, before resolution.
    pub(crate) dependencies: Vec<Dependency>,
    /// What it builds.
    pub(crate) targets: Vec<Target>,
}

/// One line of a package's dependencies.
pub(crate) struct Dependency {
    /// The package's own name, whatever it was renamed to.
    pub(crate) name: String,
    /// Which table the line stands in.
    pub(crate) kind: DependencyKind,
}

/// The table that a dependency stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DependencyKind {
    /// `[dependencies]`
    Normal,
    /// `[dev-dependencies]`
    Dev,
    /// `[build-dependencies]`
    Build,
}

/// One thing that cargo builds from a package.
pub(crate) struct Target {
    /// The name that `--test`, `--example` and `--bin` take.
    pub(crate) name: String,
    /// `lib`, `bin`, `test`, `example`, `bench`, `custom-build`, …
    pub(crate) kind: String,
    /// Whether a plain `cargo test` runs it; `test = false` in the manifest turns that off.
    pub(crate) tested: bool,
}

impl Metadata {
    /// The members of the workspace.
    pub(crate) fn of_members(workspace: &Workspace) -> Result<Self, Problem> {
        let arguments = ["metadata", "--format-version", "1", "--no-deps"];
        Self::parse(&workspace.cargo(arguments).read()?, workspace.root())
    }

    /// The members and everything that they depend on here, as `Cargo.lock` pins it.
    pub(crate) fn of_everything(workspace: &Workspace) -> Result<Self, Problem> {
        // Without the platform, cargo would download crates for systems that this one never builds for.
        let host = workspace.program("rustc", ["--print", "host-tuple"]).read()?;
        let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", host.trim()];
        Self::parse(&workspace.cargo(arguments).read()?, workspace.root())
    }

    /// The package of a manifest outside the workspace, such as the fuzz targets.
    pub(crate) fn of_manifest(workspace: &Workspace, manifest: &str) -> Result<Self, Problem> {
        let arguments = ["metadata", "--format-version", "1", "--no-deps", "--manifest-path", manifest];
        Self::parse(&workspace.cargo(arguments).read()?, workspace.root())
    }

    /// Whether a package of this name is among them.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }

    fn parse(json: &str, root: &Path) -> Result<Self, Problem> {
        let metadata: Value = serde_json::from_str(json)
            .map_err(|error| Problem::failed(format!("`cargo metadata` printed no JSON: {error}")))?;
        let packages = list(&metadata["packages"]).map(|package| Package::from_json(package, root)).collect();
        let target_directory = PathBuf::from(text(&metadata["target_directory"]));
        Ok(Self { packages, target_directory })
    }
}

impl Package {
    fn from_json(package: &Value, root: &Path) -> Self {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        Self {
            name: text(&package["name"]),
            version: text(&package["version"]),
            manifest: manifest.strip_prefix(root).unwrap_or(manifest).to_string_lossy().into_owned(),
            links: package["links"].as_str().map(str::to_owned),
            dependencies: list(&package["dependencies"]).map(Dependency::from_json).collect(),
            targets: list(&package["targets"]).map(Target::from_json).collect(),
        }
    }

    /// Its targets of one kind.
    pub(crate) fn targets_of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Target> {
        self.targets.iter().filter(move |target| target.kind == kind)
    }
}

impl Dependency {
    fn from_json(dependency: &Value) -> Self {
        let kind = match dependency["kind"].as_str() {
            Some("dev") => DependencyKind::Dev,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        };
        Self { name: text(&dependency["name"]), kind }
    }
}

impl Target {
    fn from_json(target: &Value) -> Self {
        Self {
            name: text(&target["name"]),
            kind: text(&target["kind"][0]),
            tested: target["test"].as_bool().unwrap_or(true),
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{DependencyKind, Metadata, Path};

    #[test]
    fn packages_dependencies_and_targets_are_read() {
        let json = r#"{ "target_directory": "/t", "packages": [{
            "name": "tollgate", "version": "0.1.0", "manifest_path": "/repo/crates/tollgate/Cargo.toml", "links": null,
            "dependencies": [{ "name": "tollgate-sim", "kind": "dev" }, { "name": "tollgate-core", "kind": null }],
            "targets": [{ "name": "heavy", "kind": ["test"], "test": false }] }] }"#;
        let metadata = Metadata::parse(json, Path::new("/repo")).unwrap();
        let package = &metadata.packages[0];
        assert_eq!(package.manifest, "crates/tollgate/Cargo.toml");
        assert_eq!(package.dependencies[0].kind, DependencyKind::Dev);
        assert_eq!(package.dependencies[1].kind, DependencyKind::Normal);
        assert!(!package.targets_of_kind("test").next().unwrap().tested);
    }

    #[test]
    fn output_that_is_not_json_is_a_problem() {
        assert!(Metadata::parse("error: no manifest", Path::new("/repo")).is_err());
    }
}
