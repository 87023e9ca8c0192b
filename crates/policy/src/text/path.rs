//! Patterns of paths: exact, `/api/*`, globs with `*` and `**`, templates with `{id}`.
//!
//! What comes out is normalised as requests are (K6), so that a pattern that could never match is a mistake here.

use crate::regex::Refusal;
use crate::{Condition, PathPattern, PathTest, REGEX_BYTES_MAX, normal_path};

use super::choice;
use super::fields::Fields;
use super::found::{Found, PATTERNS_FIX};
use super::tree::{Kind, Node, cut};

/// Longest pattern.
const PATTERN_BYTES_MAX: usize = 1_024;
/// Most segments of a pattern.
const SEGMENTS_MAX: usize = 64;
/// Most wildcards in a glob.
const WILDCARDS_MAX: usize = 16;

/// What means more than itself in globs and templates.
const WILDCARDS: [char; 3] = ['*', '{', '}'];
/// As regexes: part of a segment, a segment, and any number of them. Paths in their one spelling are ASCII.
const WITHIN_SEGMENT: &str = "[!-.0-~]*";
const SEGMENT: &str = "/[!-.0-~]+";
const SEGMENTS: &str = "(?:/[!-.0-~]+)*";

const KINDS: [&str; 4] = ["exact", "prefix", "glob", "template"];

/// How strictly a request is compared with paths and methods: a rule's `case_sensitive`, `strict_slash` and `strict_method`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Strictness {
    pub(super) is_case_sensitive: bool,
    pub(super) keeps_trailing_slash: bool,
    /// `GET` does not cover `HEAD`.
    pub(super) tells_head_from_get: bool,
}

/// One pattern, a list of them, or `{prefix: …}`; what is none is a mistake.
pub(super) fn read(node: &Node<'_>, strictness: Strictness, found: &mut Found) -> Option<Condition> {
    let mut tests = Vec::new();
    let mut is_sound = true;
    for item in choice::items(node, "path", found) {
        let pattern = match &item.kind {
            Kind::Map(_) => spelt_out(item, strictness, found),
            _ => text_of(item, found).and_then(|text| guess(text, item, strictness, found)),
        };
        match pattern {
            Some(patterns) => tests.extend(patterns.into_iter().map(|pattern| test(pattern, strictness))),
            None => is_sound = false,
        }
    }
    if !is_sound || tests.is_empty() {
        return None;
    }
    Some(if tests.len() == 1 { tests.remove(0) } else { Condition::Any(tests) })
}

fn test(pattern: PathPattern, strictness: Strictness) -> Condition {
    let Strictness { is_case_sensitive, keeps_trailing_slash, .. } = strictness;
    Condition::Path(PathTest { pattern, is_case_sensitive, keeps_trailing_slash })
}

/// `{exact|prefix|glob|template: …}`.
fn spelt_out(node: &Node<'_>, strictness: Strictness, found: &mut Found) -> Option<Vec<PathPattern>> {
    let cure = "write one of `exact`, `prefix`, `glob` or `template`, as in `path: {prefix: /api}`";
    let mut fields = Fields::of(node, "`path`", cure, found)?;
    let given: Vec<_> =
        KINDS.iter().filter_map(|kind| fields.take(kind).map(|value| (*kind, value))).collect();
    fields.refuse_rest("`path`", &KINDS, found);
    let [(kind, value)] = given[..] else {
        found.add(node.head(), format!("`path` has {} kinds of pattern", given.len()), cure);
        return None;
    };
    let mut patterns = Vec::new();
    for item in choice::items(value, kind, found) {
        let specials: &[char] = match kind {
            "exact" | "prefix" => &[],
            _ => &WILDCARDS,
        };
        let text = normal(text_of(item, found)?, specials, item, strictness, found)?;
        let pattern = match kind {
            "exact" => Some(PathPattern::Exact(text.into())),
            "prefix" => Some(PathPattern::Prefix(text.into())),
            "glob" => glob(&text, item, found),
            _ => template(&text, item, found),
        };
        patterns.push(pattern?);
    }
    Some(patterns)
}

fn text_of<'n>(node: &'n Node<'_>, found: &mut Found) -> Option<&'n str> {
    choice::text(node, "path", PATTERN_BYTES_MAX, found)
}

/// The kind of pattern that a text looks like.
fn guess(
    typed: &str,
    node: &Node<'_>,
    strictness: Strictness,
    found: &mut Found,
) -> Option<Vec<PathPattern>> {
    let text = normal(typed, &WILDCARDS, node, strictness, found)?;
    let below = text.strip_suffix("/**").or_else(|| text.strip_suffix("/*"));
    let pattern = match below {
        Some(above) if !above.contains(['*', '{']) => {
            Some(PathPattern::Prefix(if above.is_empty() { "/" } else { above }.into()))
        }
        _ if text.contains('*') => glob(&text, node, found),
        _ if text.contains(['{', '}']) => template(&text, node, found),
        _ => Some(PathPattern::Exact(text.into())),
    };
    Some(vec![pattern?])
}

/// In the one spelling that requests' paths have, or a mistake if no request's path can be like it. `specials` are the
/// characters that mean more than themselves.
fn normal(
    typed: &str,
    specials: &[char],
    node: &Node<'_>,
    strictness: Strictness,
    found: &mut Found,
) -> Option<String> {
    let mut refuse = |what: &str, cure: String| {
        found.add(node.place, format!("the path `{}` {what}", cut(typed)), cure);
    };
    if !typed.starts_with('/') {
        refuse("does not begin with a slash", format!("write `/{}`", cut(typed.trim_start_matches("*/"))));
        return None;
    }
    if let Some(at) = typed.find(['?', '#', ';']) {
        let path = cut(&typed[..at]);
        let cure = format!(
            "write `{path}`; what follows is no part of a path (to test a query, `match: {{\"query:name\": …}}`)"
        );
        refuse("has a query or parameters", cure);
        return None;
    }
    let segments: Vec<String> = typed.split('/').map(|segment| spelt(segment, specials)).collect();
    let spelt = segments.join("/");
    if segments.iter().any(|segment| segment == "." || segment == "..") || spelt.contains("//") {
        let what = "has empty or dot segments, which requests lose before they are compared";
        refuse(what, "write the path without them".to_owned());
        return None;
    }
    if segments.len() > SEGMENTS_MAX + 1 {
        refuse("has too many segments", format!("use at most {SEGMENTS_MAX}"));
        return None;
    }
    let mut text = if strictness.is_case_sensitive { spelt } else { spelt.to_ascii_lowercase() };
    if !strictness.keeps_trailing_slash && text.len() > 1 {
        text.truncate(text.trim_end_matches('/').len());
    }
    Some(text)
}

/// A segment in its one spelling, but for the characters that mean more than themselves.
fn spelt(segment: &str, specials: &[char]) -> String {
    let mut out = String::new();
    let mut rest = segment;
    loop {
        let (plain, after) = rest.split_at(rest.find(specials).unwrap_or(rest.len()));
        if !plain.is_empty() {
            // The letter keeps a lone dot from being dropped here: whoever wrote it is told.
            let normal = normal_path(&format!("/a{plain}"), true, true);
            out.push_str(normal.get(2..).unwrap_or_default());
        }
        let Some(special) = after.chars().next() else { return out };
        out.push(special);
        rest = after.get(special.len_utf8()..).unwrap_or_default();
    }
}

/// Segments, those in braces being anything.
fn template(text: &str, node: &Node<'_>, found: &mut Found) -> Option<PathPattern> {
    let mut segments = Vec::new();
    for segment in text.split('/').skip(1) {
        let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match name {
            Some(name) if !name.is_empty() && !name.contains(['{', '}', '*']) => segments.push(None),
            None if !segment.contains(['{', '}', '*']) => segments.push(Some(segment.into())),
            _ => {
                let what = format!("the segment `{}` of a path is no name in braces", cut(segment));
                found.add(
                    node.place,
                    what,
                    "write whole segments in braces, as in `/users/{id}/posts`, or use `*`",
                );
                return None;
            }
        }
    }
    Some(PathPattern::Template(segments))
}

/// `*` within a segment, `**` over any number of them, `{id}` one segment.
fn glob(text: &str, node: &Node<'_>, found: &mut Found) -> Option<PathPattern> {
    let segments: Vec<&str> = text.split('/').skip(1).collect();
    let is_wild = |segment: &&str| segment.contains(['*', '{', '}']);
    let mut pattern = String::from("^");
    let mut wildcards = 0;
    for segment in &segments {
        wildcards += segment.matches(['*', '{']).count();
        match *segment {
            "**" => pattern.push_str(SEGMENTS),
            _ if segment.contains("**") => {
                let what = format!("`**` stands within the segment `{}` of a path", cut(segment));
                found.add(node.place, what, "write `**` as a segment of its own, as in `/files/**/*.png`");
                return None;
            }
            _ if segment.starts_with('{') && segment.ends_with('}') && segment.len() > 2 => {
                pattern.push_str(SEGMENT);
            }
            _ if segment.contains(['{', '}']) => {
                found.add(
                    node.place,
                    format!("the segment `{}` of a path is no name in braces", cut(segment)),
                    "write whole segments in braces, as in `/users/{id}/*`",
                );
                return None;
            }
            _ => {
                let parts: Vec<String> = segment.split('*').map(regex_syntax::escape).collect();
                pattern.push('/');
                pattern.push_str(&parts.join(WITHIN_SEGMENT));
            }
        }
    }
    pattern.push('$');
    if wildcards > WILDCARDS_MAX {
        found.add(
            node.place,
            format!("the path has {wildcards} wildcards"),
            format!("use at most {WILDCARDS_MAX}"),
        );
        return None;
    }
    let literal =
        segments.iter().take_while(|segment| !is_wild(segment)).map(|segment| (*segment).into()).collect();
    let regex = match found.patterns.compile(&pattern) {
        Ok(regex) => regex,
        Err(Refusal::Fault(_)) => {
            let what = format!("the path compiles to a table above the maximum of {REGEX_BYTES_MAX} bytes");
            found.add(node.place, what, "use fewer wildcards, or a shorter path");
            return None;
        }
        Err(Refusal::Spent(what)) => {
            found.add_once(node.place, what, PATTERNS_FIX);
            return None;
        }
        Err(Refusal::Stopped) => {
            found.note_stop(node.place);
            return None;
        }
    };
    Some(PathPattern::Glob { text: text.into(), regex, literal })
}

#[cfg(test)]
mod tests {
    use super::super::tree::Place;
    use super::*;

    fn pattern_of(text: &str) -> Option<PathPattern> {
        let node =
            Node { place: Place { start: 0, end: 0, line: 1 }, kind: Kind::Plain(text.to_owned().into()) };
        match read(&node, Strictness::default(), &mut Found::default())? {
            Condition::Path(path) => Some(path.pattern),
            _ => None,
        }
    }

    fn globs(pattern: &str, path: &str) -> bool {
        let Some(PathPattern::Glob { regex, .. }) = pattern_of(pattern) else {
            panic!("{pattern} is no glob")
        };
        regex.is_match(path)
    }

    #[test]
    fn a_text_is_the_pattern_it_looks_like() {
        assert!(
            matches!(pattern_of("/API/Search/"), Some(PathPattern::Exact(text)) if &*text == "/api/search")
        );
        assert!(matches!(pattern_of("/api/*"), Some(PathPattern::Prefix(text)) if &*text == "/api"));
        assert!(matches!(pattern_of("/api/**"), Some(PathPattern::Prefix(text)) if &*text == "/api"));
        assert!(matches!(pattern_of("/*"), Some(PathPattern::Prefix(text)) if &*text == "/"));
        assert!(matches!(pattern_of("/"), Some(PathPattern::Exact(text)) if &*text == "/"));
        let Some(PathPattern::Template(segments)) = pattern_of("/users/{id}/posts") else { panic!() };
        assert_eq!(segments, [Some("users".into()), None, Some("posts".into())]);
    }

    #[test]
    fn stars_stay_within_segments_and_double_stars_do_not() {
        assert!(globs("/files/**/*.png", "/files/a.png") && globs("/files/**/*.png", "/files/x/y/a.png"));
        assert!(!globs("/files/**/*.png", "/files/a.jpg") && !globs("/files/**/*.png", "/filesa.png"));
        assert!(globs("/v*/users", "/v2/users") && !globs("/v*/users", "/v2/x/users"));
        assert!(globs("/users/{id}/*", "/users/7/posts") && !globs("/users/{id}/*", "/users/posts"));
        assert!(!globs("/a.b/*/c", "/axb/1/c"), "a dot is a dot");
    }

    #[test]
    fn a_pattern_is_spelt_as_requests_are() {
        for (typed, path) in
            [("/%61pi", "/api"), ("/café", "/caf%c3%a9"), ("/A%2fB", "/a%2fb"), ("/a b", "/a%20b")]
        {
            assert!(matches!(pattern_of(typed), Some(PathPattern::Exact(text)) if *text == *path), "{typed}");
            assert_eq!(normal_path(typed, false, false), path, "{typed}");
        }
        assert!(globs("/café/*/x", &normal_path("/CAF%c3%a9/é/x", false, false)));
    }

    #[test]
    fn a_pattern_that_no_request_can_match_is_refused() {
        for text in
            ["api", "/a//b", "/a/../b", "/a?x=1", "/a;v=1", "/%2e%2e/a", "/a{id}", "/a**b/c", "/{}", "*"]
        {
            assert!(pattern_of(text).is_none(), "{text}");
        }
    }
}
