//! How much of the page goes over the wire: what the first view loads, and all of it.
//!
//! The first view is the live page: `index.html`, what it names, the chunk of that page, and all that these import at once. Sizes are those of the
//! gzipped forms that the build writes beside the files; a file without one counts as it is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::problem::Problem;
use crate::web::files_below;

const FIRST_VIEW_BYTES_MAX: u64 = 150_000;
const ALL_BYTES_MAX: u64 = 400_000;
/// How the files of the page that is seen first begin.
const FIRST_PAGE: &str = "Live-";

/// What a built page weighs.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Weight {
    /// What is loaded until the first page is seen.
    first_view_bytes: u64,
    all_bytes: u64,
}

impl Weight {
    /// Of the page in `dist`.
    pub(super) fn of(dist: &Path) -> Result<Self, Problem> {
        let files: Vec<PathBuf> = files_below(dist, &[])?;
        let files = files.iter().filter(|path| path.extension() != Some("gz".as_ref()));
        let named = named_in(&text_of(&dist.join("index.html"))?);
        let is_first = |path: &&PathBuf| {
            let is_of_first_page =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FIRST_PAGE));
            **path == *"index.html" || is_of_first_page || named.iter().any(|name| path.ends_with(name))
        };
        let (mut first, mut others): (Vec<&PathBuf>, Vec<&PathBuf>) = files.partition(is_first);
        let mut seen = 0;
        while let Some(path) = first.get(seen) {
            seen += 1;
            if path.extension() == Some("js".as_ref()) {
                let text = text_of(&dist.join(path))?;
                first.extend(others.extract_if(.., |other| is_imported(other, &text)));
            }
        }
        let size = |paths: &[&PathBuf]| paths.iter().map(|path| size_on_the_wire(&dist.join(path))).sum();
        let first_view_bytes: u64 = size(&first)?;
        let size_of_others: Result<u64, Problem> = size(&others);
        Ok(Self { first_view_bytes, all_bytes: first_view_bytes + size_of_others? })
    }

    /// The figures in words, each with its limit.
    pub(super) fn words(&self) -> String {
        let Self { first_view_bytes, all_bytes } = self;
        format!(
            "first view {first_view_bytes} bytes gzipped ({FIRST_VIEW_BYTES_MAX} at most), \
             all of the page {all_bytes} ({ALL_BYTES_MAX} at most)"
        )
    }

    /// Whether both limits are kept.
    pub(super) fn is_within_limits(&self) -> bool {
        self.first_view_bytes <= FIRST_VIEW_BYTES_MAX && self.all_bytes <= ALL_BYTES_MAX
    }
}

/// The files that a page names by `src` and `href`, as paths from its folder.
fn named_in(index: &str) -> Vec<String> {
    let after = |name: &'static str| index.split(name).skip(1);
    let values = after("src=\"").chain(after("href=\"")).filter_map(|rest| rest.split('"').next());
    values.map(|value| value.trim_start_matches('/').to_owned()).collect()
}

/// Whether a script imports a file at once; what it imports later, by a call, is none of it.
fn is_imported(path: &Path, script: &str) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return false };
    ["from", "import"].iter().any(|word| {
        ['"', '\'', '`'].iter().any(|quote| script.contains(&format!("{word}{quote}./{name}{quote}")))
    })
}

fn text_of(file: &Path) -> Result<String, Problem> {
    let cannot = |error| Problem::failed(format!("cannot read '{}': {error}", file.display()));
    fs::read_to_string(file).map_err(cannot)
}

fn size_on_the_wire(file: &Path) -> Result<u64, Problem> {
    let gzipped = file.with_added_extension("gz");
    let sent = if gzipped.is_file() { &gzipped } else { file };
    let about = sent.metadata();
    about
        .map(|about| about.len())
        .map_err(|error| Problem::failed(format!("cannot read '{}': {error}", sent.display())))
}

#[cfg(test)]
mod tests {
    use super::{ALL_BYTES_MAX, FIRST_VIEW_BYTES_MAX, Weight, fs};

    #[test]
    fn the_first_view_is_what_the_live_page_loads_in_the_form_that_is_sent() {
        let dist = std::env::temp_dir().join(format!("tollgate-budget-{}", std::process::id()));
        fs::create_dir_all(dist.join("assets")).unwrap();
        let mut all_bytes = 0;
        for (name, text) in [
            ("index.html", r#"<script src="/assets/a.js"></script><link href="/assets/a.css">"#),
            ("assets/a.js", "x".repeat(900).as_str()),
            ("assets/a.js.gz", "smaller"),
            ("assets/a.css", "colours"),
            ("assets/Live-1.js", r#"import{b}from"./b.js";import("./later.js")"#),
            ("assets/Live-1.css", "more"),
            ("assets/b.js", "b"),
            ("assets/later.js", "not yet"),
        ] {
            fs::write(dist.join(name), text).unwrap();
            all_bytes += if name == "assets/a.js" { 0 } else { u64::try_from(text.len()).unwrap() };
        }
        let weight = Weight::of(&dist).unwrap();
        assert_eq!(weight, Weight { first_view_bytes: all_bytes - 7, all_bytes });
        fs::remove_dir_all(dist).unwrap();
    }

    #[test]
    fn either_limit_may_be_met_and_not_passed() {
        let is_fine = |first_view_bytes, all_bytes| Weight { first_view_bytes, all_bytes }.is_within_limits();
        assert!(is_fine(FIRST_VIEW_BYTES_MAX, ALL_BYTES_MAX));
        assert!(!is_fine(FIRST_VIEW_BYTES_MAX + 1, ALL_BYTES_MAX));
        assert!(!is_fine(FIRST_VIEW_BYTES_MAX, ALL_BYTES_MAX + 1));
    }
}
