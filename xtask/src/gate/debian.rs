//! Packages of the Debian release that the gate runs on, unpacked into a folder.
//!
//! Promises to install nothing and to need no root: apt only downloads, and what a package would run is not run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::invocation::Invocation;
use crate::problem::Problem;

use super::components::shown;

/// Downloads packages and unpacks them. Lists of packages that are missing or old are fetched first.
pub(super) fn unpack(packages: &[&str], folder: &Path) -> Result<(), Problem> {
    let download = || shown(apt(folder).args(["download"]).args(packages));
    if download().is_err() {
        shown(apt(folder).args(["update"]))?;
        download()?;
    }
    let cannot =
        |error: std::io::Error| Problem::failed(format!("cannot unpack what was downloaded: {error}"));
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let name = PathBuf::from(entry.map_err(cannot)?.file_name());
        if name.extension() == Some("deb".as_ref()) {
            let unpack = ["--extract", &name.to_string_lossy(), "."];
            shown(Invocation::new("dpkg-deb", "dpkg-deb", folder).args(unpack))?;
            fs::remove_file(folder.join(name)).map_err(cannot)?;
        }
    }
    Ok(())
}

/// The same, with every package that they need and that is not installed.
pub(super) fn unpack_with_needs(packages: &[&str], folder: &Path) -> Result<(), Problem> {
    let simulate = || {
        let simulate = apt(folder).args(["--simulate", "--no-install-recommends", "install"]).args(packages);
        println!("               $ {}", simulate.typed());
        simulate.read()
    };
    let said = simulate().or_else(|_| shown(apt(folder).args(["update"])).and_then(|()| simulate()))?;
    let mut wanted = packages.to_vec();
    wanted.extend(to_be_installed(&said).filter(|name| !packages.contains(name)));
    unpack(&wanted, folder)
}

/// Apt's own user cannot write to the folder, and needs not.
fn apt(folder: &Path) -> Invocation {
    Invocation::new("apt-get", "apt-get", folder).args(["-qq", "-o", "APT::Sandbox::User=root"])
}

/// The packages that a simulated installation would bring: `Inst libogg0 (1.3.5-3 Debian:12/stable [amd64])`.
fn to_be_installed(said: &str) -> impl Iterator<Item = &str> {
    said.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
}

#[cfg(test)]
mod tests {
    use super::to_be_installed;

    #[test]
    fn what_apt_would_install_is_read_from_what_it_says() {
        let said = "NOTE: This is only a simulation!\n\
                    Inst libogg0 (1.3.5-3 Debian:12.14/oldstable [amd64])\n\
                    Inst libnss3 [2:3.87.1-1] (2:3.87.1-1+deb12u2 Debian:12.14/oldstable [amd64])\n\
                    Conf libogg0 (1.3.5-3 Debian:12.14/oldstable [amd64])\n";
        assert_eq!(to_be_installed(said).collect::<Vec<_>>(), ["libogg0", "libnss3"]);
    }
}
