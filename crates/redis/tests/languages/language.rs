//! The languages that have an example: a copy of its folder, with the scripts of the crate and a driver beside it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tollgate_redis::Script;

use crate::fleet::mortal::mortal;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Which language.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    Node,
    Python,
}

/// A copy of an example, gone when it is dropped.
pub(crate) struct Copied {
    language: Language,
    folder: PathBuf,
}

impl Language {
    pub(crate) const ALL: [Language; 2] = [Language::Node, Language::Python];

    /// What its client library is called in `TOLLGATE_SKIP` and in `target/tools`.
    pub(crate) fn component(self) -> &'static str {
        match self {
            Language::Node => "ioredis",
            Language::Python => "redis-py",
        }
    }

    /// How its files end.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Language::Node => "js",
            Language::Python => "py",
        }
    }

    /// A file of the example, as it is in the repository.
    pub(crate) fn file(self, name: &str) -> String {
        std::fs::read_to_string(self.example().join(name)).unwrap()
    }

    fn example(self) -> PathBuf {
        let name = match self {
            Language::Node => "redis-node",
            Language::Python => "redis-python",
        };
        Path::new(ROOT).join("examples").join(name)
    }

    fn files(self) -> &'static [&'static str] {
        match self {
            Language::Node => &["demo.js", "tollgate.js", "rule.js", "words.js", "package.json"],
            Language::Python => &["demo.py", "tollgate.py", "rule.py"],
        }
    }
}

impl Copied {
    /// A copy with the scripts, which `tamper` may change.
    pub(crate) fn new(language: Language, tamper: fn(&str) -> String) -> Copied {
        static COPIED: AtomicU32 = AtomicU32::new(0);
        let number = COPIED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tollgate-languages-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for file in language.files() {
            std::fs::copy(language.example().join(file), folder.join(file)).unwrap();
        }
        let driver = format!("driver.{}", language.ending());
        let ours = Path::new(ROOT).join("crates/redis/tests/languages").join(&driver);
        std::fs::copy(ours, folder.join(driver)).unwrap();
        for script in [Script::decide(), Script::declare()] {
            std::fs::write(folder.join(format!("{}.lua", script.name())), tamper(script.text())).unwrap();
        }
        if matches!(language, Language::Node) {
            // Node looks for packages beside the file.
            let packages = tool("ioredis/node_modules");
            std::os::unix::fs::symlink(packages, folder.join("node_modules")).unwrap();
        }
        Copied { language, folder }
    }

    /// Starts one of its files, without its ending.
    pub(crate) fn command(&self, file: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = mortal(&tool(&format!("bin/{}", self.language.component())));
        command.arg(self.folder.join(format!("{file}.{}", self.language.ending())));
        command.envs(variables.iter().copied()).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A path under `target/tools`, which is there.
fn tool(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools").join(path);
    assert!(
        path.exists(),
        "'{}' is missing; run `cargo xtask test setup`, or leave it out with TOLLGATE_SKIP",
        path.display()
    );
    path
}
