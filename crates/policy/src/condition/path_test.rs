//! Whether a path meets a pattern, as strictly as the pattern says.

use super::evaluation::is_match;
use super::reading::Reading;
use crate::path::{FormSet, NormalPath};
use crate::request::Request;
use crate::{PathPattern, PathTest};

/// The forms of the path, out of `forms`, for which the test holds.
pub(crate) fn forms_met(test: &PathTest, request: &Request<'_>, forms: FormSet, reading: Reading) -> FormSet {
    let is_met = |form: &_| holds(test, request.path(*form), request, reading);
    forms.iter().filter(is_met).fold(FormSet::NONE, FormSet::with)
}

/// Whether the path is one of those that the test means. A path that a glob cannot read whole is ambiguous below the
/// glob's literal segments.
fn holds(test: &PathTest, path: NormalPath<'_>, request: &Request<'_>, reading: Reading) -> bool {
    let path = path.view(test.is_case_sensitive, test.keeps_trailing_slash);
    match &test.pattern {
        PathPattern::Exact(exact) => **exact == *path,
        PathPattern::Prefix(prefix) => is_below(path, prefix),
        PathPattern::Template(template) => follows(path, template),
        PathPattern::Glob { regex, literal, .. } => is_match(regex, path, request).unwrap_or_else(|| {
            let mut segments = path.split('/').skip(1);
            let begins = literal.iter().all(|expected| segments.next() == Some(&**expected));
            begins && reading.of_ambiguous(|| true)
        }),
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
    use crate::Facts;
    use crate::request::RequestRoom;

    fn meets(test: &PathTest, target: &str) -> bool {
        let (facts, mut room) = (Facts::new("GET", target), RequestRoom::default());
        let request = Request::new(&facts, &mut room);
        forms_met(test, &request, FormSet::SENT, Reading::Wide) == FormSet::SENT
    }

    fn strict(pattern: PathPattern, target: &str) -> bool {
        meets(&PathTest { pattern, is_case_sensitive: true, keeps_trailing_slash: true }, target)
    }

    fn lenient(pattern: PathPattern, target: &str) -> bool {
        meets(&PathTest { pattern, is_case_sensitive: false, keeps_trailing_slash: false }, target)
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
