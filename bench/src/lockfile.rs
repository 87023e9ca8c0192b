//! Which version of a peer was measured, as Cargo.lock had it when the bench was built.

const LOCKFILE: &str = include_str!("../../Cargo.lock");

/// The version of `package` that this bench was built with.
pub(crate) fn version_of(package: &str) -> Option<&'static str> {
    find(LOCKFILE, package)
}

fn find<'a>(lockfile: &'a str, package: &str) -> Option<&'a str> {
    let mut lines = lockfile.lines();
    lines.find(|line| quoted_value(line, "name") == Some(package))?;
    quoted_value(lines.next()?, "version")
}

/// `2` from `name = "2"`.
fn quoted_value<'a>(line: &'a str, field: &str) -> Option<&'a str> {
    line.strip_prefix(field)?.strip_prefix(" = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::{find, version_of};

    #[test]
    fn a_version_stands_under_its_own_package_name() {
        let lockfile = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        assert_eq!(find(lockfile, "a"), Some("2.0.0"));
        assert_eq!(find(lockfile, "b"), None);
    }

    #[test]
    fn every_peer_is_in_our_lockfile() {
        for peer in ["governor", "throttlecrab", "leaky-bucket", "tokio", "tower_governor"] {
            assert!(version_of(peer).is_some(), "{peer}");
        }
    }
}
