//! How much of the page goes over the wire: what the first view loads, and all of it.
//!
//! Sizes are those of the gzipped forms that the build writes beside the files; a file without one counts as it is.

use std::fs;
use std::path::Path;

use crate::problem::Problem;
use crate::web::files_below;

const FIRST_VIEW_BYTES_MAX: u64 = 150_000;
const ALL_BYTES_MAX: u64 = 400_000;

/// What a built page weighs.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Weight {
    /// `index.html` and whatever it names.
    first_view_bytes: u64,
    all_bytes: u64,
}

impl Weight {
    /// Of the page in `dist`.
    pub(super) fn of(dist: &Path) -> Result<Self, Problem> {
        let index = dist.join("index.html");
        let index = fs::read_to_string(&index)
            .map_err(|error| Problem::failed(format!("cannot read '{}': {error}", index.display())))?;
        let named = named_in(&index);
        let mut weight = Self { first_view_bytes: 0, all_bytes: 0 };
        for path in files_below(dist, &[])? {
            if path.extension() == Some("gz".as_ref()) {
                continue;
            }
            let size = size_on_the_wire(&dist.join(&path))?;
            weight.all_bytes += size;
            if path == Path::new("index.html") || named.iter().any(|name| path == Path::new(name)) {
                weight.first_view_bytes += size;
            }
        }
        Ok(weight)
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
fn named_in(index: &str) -> Vec<&str> {
    let after = |name: &'static str| index.split(name).skip(1);
    let values = after("src=\"").chain(after("href=\"")).filter_map(|rest| rest.split('"').next());
    values.map(|value| value.trim_start_matches('/')).collect()
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
    fn the_first_view_is_what_the_index_names_in_the_form_that_is_sent() {
        let dist = std::env::temp_dir().join(format!("tollgate-budget-{}", std::process::id()));
        fs::create_dir_all(dist.join("assets")).unwrap();
        let index =
            r#"<script src="/assets/a.js"></script><link href="/assets/a.css"><link href="/icon.svg">"#;
        let size_of_index = u64::try_from(index.len()).unwrap();
        fs::write(dist.join("index.html"), index).unwrap();
        for (name, bytes) in [
            ("assets/a.js", 900),
            ("assets/a.js.gz", 300),
            ("assets/a.css", 50),
            ("assets/later.js", 70),
            ("icon.svg", 7),
        ] {
            fs::write(dist.join(name), vec![b'x'; bytes]).unwrap();
        }
        let weight = Weight::of(&dist).unwrap();
        let first_view_bytes = size_of_index + 300 + 50 + 7;
        assert_eq!(weight, Weight { first_view_bytes, all_bytes: first_view_bytes + 70 });
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
