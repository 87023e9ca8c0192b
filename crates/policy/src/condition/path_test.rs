//! Whether a path meets a pattern, as strictly as the pattern says.

use super::reading::Reading;
use crate::path::{FormSet, NormalPath};
use crate::regex::REGEX_INPUT_BYTES_MAX;
use crate::request::Request;
use crate::{PathPattern, PathTest};

/// Forms of the longest path that a glob reads.
pub(crate) const GLOB_FORMS_MAX: usize = 2;

/// Bytes that a glob reads of all forms of a path together.
const GLOB_BYTES_MAX: usize = GLOB_FORMS_MAX * REGEX_INPUT_BYTES_MAX;

/// The forms of the path, out of `forms`, for which the test holds.
pub(crate) fn forms_met(test: &PathTest, request: &Request<'_>, forms: FormSet, reading: Reading) -> FormSet {
    let mut glob_bytes_left = GLOB_BYTES_MAX;
    let is_met = |met: FormSet, form| {
        let is_met = holds(test, request.path(form), reading, &mut glob_bytes_left);
        if is_met { met.with(form) } else { met }
    };
    forms.iter().fold(FormSet::NONE, is_met)
}

/// Whether the path is one of those that the test means. A glob cannot read a path of more than
/// [`REGEX_INPUT_BYTES_MAX`] bytes whole, or with fewer bytes left: below the glob's literal segments such a path is
/// ambiguous.
fn holds(test: &PathTest, path: NormalPath<'_>, reading: Reading, glob_bytes_left: &mut usize) -> bool {
    let path = path.view(test.is_case_sensitive, test.keeps_trailing_slash);
    match &test.pattern {
        PathPattern::Exact(exact) => **exact == *path,
        PathPattern::Prefix(prefix) => is_below(path, prefix),
        PathPattern::Template(template) => follows(path, template),
        PathPattern::Glob { literal, .. } if path.len() > REGEX_INPUT_BYTES_MAX.min(*glob_bytes_left) => {
            let mut segments = path.split('/').skip(1);
            let begins = literal.iter().all(|expected| segments.next() == Some(&**expected));
            begins && reading.of_ambiguous(|| true)
        }
        PathPattern::Glob { regex, .. } => {
            *glob_bytes_left -= path.len();
            regex.is_match(path)
        }
    }
}

/// Itself, or below it. Everything is below the root, even `*`, which is no path.
fn is_below(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix.strip_suffix('/').unwrap_or(prefix)) {
        Some("") => !prefix.ends_with('/') || path == prefix,
        Some(rest) => rest.starts_with('/') || prefix.is_empty() || prefix == "/",
        None => false,
    }
}

fn follows(path: &str, template: &[Option<Box<str>>]) -> bool {
    let Some(path) = path.strip_prefix('/') else { return false };
    if path.is_empty() {
        return matches!(template, []) || matches!(template, [Some(only)] if only.is_empty());
    }
    let mut segments = path.split('/');
    template.iter().all(|expected| match (expected, segments.next()) {
        (Some(expected), Some(segment)) => **expected == *segment,
        (None, Some(segment)) => !segment.is_empty(),
        (_, None) => false,
    }) && segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PathRoom;

    fn strict(pattern: PathPattern, target: &str) -> bool {
        let test = PathTest { pattern, is_case_sensitive: true, keeps_trailing_slash: true };
        holds(
            &test,
            NormalPath::of(target, &mut PathRoom::default()),
            Reading::Wide,
            &mut GLOB_BYTES_MAX.clone(),
        )
    }

    fn lenient(pattern: PathPattern, target: &str) -> bool {
        let test = PathTest { pattern, is_case_sensitive: false, keeps_trailing_slash: false };
        holds(
            &test,
            NormalPath::of(target, &mut PathRoom::default()),
            Reading::Wide,
            &mut GLOB_BYTES_MAX.clone(),
        )
    }

    fn template(text: &str) -> PathPattern {
        let segments = text.split('/').skip(1);
        PathPattern::Template(
            segments.map(|segment| (!segment.starts_with('{')).then(|| segment.into())).collect(),
        )
    }

    #[test]
    fn a_prefix_ends_between_segments() {
        let api = || PathPattern::Prefix("/api".into());
        assert!(lenient(api(), "/api"));
        assert!(lenient(api(), "/API/"));
        assert!(lenient(api(), "/api/search"));
        assert!(!lenient(api(), "/apis"));
        assert!(!lenient(api(), "/x/api"));
        assert!(strict(api(), "/api/"));
        assert!(!strict(PathPattern::Prefix("/api/".into()), "/api"), "the slash is kept, so it counts");
        assert!(strict(PathPattern::Prefix("/api/".into()), "/api/x"));
    }

    #[test]
    fn everything_is_below_the_root() {
        for root in ["/", ""] {
            for target in ["/", "/a/b", "*", ""] {
                assert!(lenient(PathPattern::Prefix(root.into()), target), "{root:?} {target:?}");
            }
        }
        assert!(!lenient(PathPattern::Exact("/".into()), "*"));
    }

    #[test]
    fn a_template_has_so_many_segments() {
        assert!(lenient(template("/users/{id}/posts"), "/Users/42/posts/"));
        assert!(!lenient(template("/users/{id}/posts"), "/users/42"));
        assert!(!lenient(template("/users/{id}/posts"), "/users/42/posts/7"));
        assert!(!lenient(template("/users/{id}"), "/users/"));
        assert!(!strict(template("/users/{id}"), "/users/"), "nothing is no id");
        assert!(strict(template("/users/{id}/"), "/users/4/"));
        assert!(!strict(template("/users/{id}/"), "/users/4"));
        assert!(lenient(PathPattern::Template(Vec::new()), "/"));
        assert!(!lenient(template("/{any}"), "/"));
        assert!(!lenient(template("/{any}"), "*"));
    }

    #[test]
    fn case_and_slash_matter_only_where_they_are_kept() {
        let exact = |text: &str| PathPattern::Exact(text.into());
        assert!(lenient(exact("/a"), "/A/"));
        assert!(!strict(exact("/a"), "/A"));
        assert!(!strict(exact("/a"), "/a/"));
        assert!(strict(exact("/A/"), "//A/"));
    }
}
