//! Which path of the admin door is what of the page.
//!
//! Promises that every name is one of the page: made of letters, digits, `-`, `_` and dots that stand alone within it. So no path leads out of
//! the folder, whatever it is read from, and none is the admin API's, the health's or the metrics'.

/// Paths that the page itself tells apart, with all that is below them.
const SCREENS: [&str; 4] = ["/rules", "/clients", "/playground", "/sign-in"];
/// What is answered by others on this door.
const TAKEN: [&str; 4] = ["livez", "readyz", "metrics", "openapi.json"];
const ASSETS: &str = "/assets/";
/// Longest name of a file, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// A place of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'p> {
    /// The page, which knows by its address what to show.
    Screen,
    /// A file of this name.
    File(&'p str, Keeping),
}

/// How long an answer may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// For good: another content has another name.
    Forever,
    /// Until it is asked for again.
    AskAgain,
}

impl Keeping {
    pub(super) const fn field(self) -> &'static str {
        match self {
            Keeping::Forever => "public, max-age=31536000, immutable",
            Keeping::AskAgain => "no-cache",
        }
    }
}

/// Whether a path is the page's.
pub(crate) fn is_for(path: &str) -> bool {
    path.starts_with(ASSETS) || Place::of(path).is_some()
}

impl Place<'_> {
    /// What a path of the page is; `None` if it can be nothing.
    pub(super) fn of(path: &str) -> Option<Place<'_>> {
        let is_end = |rest: &str| rest.is_empty() || rest.starts_with('/');
        if path == "/" || SCREENS.iter().any(|screen| path.strip_prefix(screen).is_some_and(is_end)) {
            return Some(Place::Screen);
        }
        let name = path.strip_prefix('/').filter(|name| name.len() <= NAME_BYTES_MAX)?;
        // What is compressed is sent to who takes it, under the other name.
        let is_file =
            name.strip_suffix(".gz").is_none() && name.contains('.') && name.split('/').all(is_name);
        match name.split_once('/') {
            Some(("assets", _)) if is_file => Some(Place::File(name, Keeping::Forever)),
            None if is_file && !TAKEN.contains(&name) => Some(Place::File(name, Keeping::AskAgain)),
            _ => None,
        }
    }
}

/// Whether it is made of what names of files are made of.
fn is_name(segment: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !segment.is_empty()
        && !segment.starts_with('.')
        && !segment.contains("..")
        && segment.bytes().all(is_of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_are_the_page_and_files_are_what_they_are() {
        for path in
            ["/", "/rules", "/rules/", "/rules/per-user", "/clients/a%2F..%2Fb", "/playground", "/sign-in"]
        {
            assert_eq!(Place::of(path), Some(Place::Screen), "{path}");
        }
        for (path, name, keeping) in [
            ("/favicon.svg", "favicon.svg", Keeping::AskAgain),
            ("/index.html", "index.html", Keeping::AskAgain),
            ("/assets/index-B8_x-1.js", "assets/index-B8_x-1.js", Keeping::Forever),
            ("/assets/fonts/a.woff2", "assets/fonts/a.woff2", Keeping::Forever),
        ] {
            assert_eq!(Place::of(path), Some(Place::File(name, keeping)), "{path}");
        }
    }

    #[test]
    fn no_path_leads_out_of_the_page_or_to_what_others_answer() {
        for path in [
            "",
            "/..",
            "/../Cargo.toml",
            "//etc/passwd.txt",
            "/assets/../../Cargo.toml",
            "/assets/..%2f..%2fCargo.toml",
            "/assets/%2e%2e/Cargo.toml",
            "/assets/..\\Cargo.toml",
            "/assets//a.js",
            "/assets/.a.js",
            "/assets/a..js",
            "/assets/a.js.gz",
            "/assets/",
            "/assets",
            "/.git/config.txt",
            "/.env",
            "/rulesets",
            "/rules.json.gz",
            "/admin",
            "/admin/v1/rules",
            "/admin/openapi.json",
            "/livez",
            "/readyz",
            "/metrics",
            "/openapi.json",
            "/src/main.ts",
            "/favicon.svg\0",
        ] {
            assert_eq!(Place::of(path), None, "{path}");
        }
        assert_eq!(Place::of(&format!("/{}.js", "a".repeat(NAME_BYTES_MAX))), None);
    }
}
