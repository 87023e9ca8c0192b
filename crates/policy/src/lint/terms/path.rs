//! Which patterns of paths lie within others, and which have no path in common.
//!
//! Patterns are compared by their segments; a glob counts as its literal beginning and anything below it, except that a
//! single path is simply tried on it.

use std::borrow::Cow;

use crate::{PathPattern, PathTest};

/// What is known of the paths of a pattern, segment by segment.
struct Shape<'p> {
    /// `None` is any segment, never an empty one.
    segments: Vec<Option<Cow<'p, str>>>,
    /// More segments may follow.
    is_open: bool,
}

/// Whether every path that passes `inner` certainly passes `outer`.
pub(super) fn covers(outer: &PathTest, inner: &PathTest) -> bool {
    if is_every_path(outer) {
        return true;
    }
    // What is more lenient passes spellings that a stricter one refuses.
    let is_stricter = outer.is_case_sensitive && !inner.is_case_sensitive
        || outer.keeps_trailing_slash && !inner.keeps_trailing_slash;
    if is_stricter {
        return false;
    }
    match (&outer.pattern, &inner.pattern) {
        (PathPattern::Glob { regex, .. }, PathPattern::Exact(path)) => regex.is_match(&*seen_by(outer, path)),
        (PathPattern::Glob { text: outer_text, .. }, PathPattern::Glob { text, .. }) => {
            outer_text == text
                && outer.is_case_sensitive == inner.is_case_sensitive
                && outer.keeps_trailing_slash == inner.keeps_trailing_slash
        }
        (PathPattern::Glob { .. }, _) => false,
        _ => {
            let folds_slash = !outer.keeps_trailing_slash;
            match (shape(outer, folds_slash, false), shape(inner, folds_slash, !outer.is_case_sensitive)) {
                (Some(outer), Some(inner)) => outer.holds(&inner),
                _ => false,
            }
        }
    }
}

/// Whether no path passes both, for certain.
pub(super) fn excludes(one: &PathTest, other: &PathTest) -> bool {
    for (glob, exact) in [(one, other), (other, one)] {
        if let (PathPattern::Glob { regex, .. }, PathPattern::Exact(path)) = (&glob.pattern, &exact.pattern)
            && !glob.is_case_sensitive
            && !glob.keeps_trailing_slash
        {
            return !regex.is_match(&*seen_by(glob, path));
        }
    }
    match (shape(one, true, true), shape(other, true, true)) {
        (Some(one), Some(other)) => one.excludes(&other),
        _ => false,
    }
}

/// Everything is below the root.
pub(crate) fn is_every_path(test: &PathTest) -> bool {
    matches!(&test.pattern, PathPattern::Prefix(prefix) if matches!(&**prefix, "" | "/"))
}

/// Whether a segment of the pattern passes the test; of a glob, one before its first wildcard.
pub(crate) fn has_segment(test: &PathTest, is_sought: impl Fn(&str) -> bool) -> bool {
    shape(test, true, true)
        .is_some_and(|shape| shape.segments.iter().flatten().any(|segment| is_sought(segment)))
}

/// The segments, in lower case, that every path of the pattern begins with.
pub(crate) fn first_segments(test: &PathTest) -> Vec<String> {
    let segments = shape(test, true, true).map_or_else(Vec::new, |shape| shape.segments);
    segments.into_iter().map_while(|segment| segment.map(Cow::into_owned)).collect()
}

/// A path as a test looks at it.
fn seen_by<'p>(test: &PathTest, path: &'p str) -> Cow<'p, str> {
    let path = match path.strip_suffix('/') {
        Some(trimmed) if !test.keeps_trailing_slash && !trimmed.is_empty() => trimmed,
        _ => path,
    };
    if test.is_case_sensitive { Cow::Borrowed(path) } else { Cow::Owned(path.to_ascii_lowercase()) }
}

/// The shape of a pattern, with what does not matter folded: holds at least the pattern's paths. `None` if it has none.
fn shape(test: &PathTest, folds_slash: bool, folds_case: bool) -> Option<Shape<'_>> {
    let (mut segments, is_open) = match &test.pattern {
        PathPattern::Exact(path) => (split(path)?, false),
        PathPattern::Prefix(prefix) => (split(prefix)?, true),
        PathPattern::Template(parts) => {
            (parts.iter().map(|part| part.as_deref().map(Cow::from)).collect(), false)
        }
        PathPattern::Glob { literal, .. } => {
            (literal.iter().map(|part| Some(Cow::from(&**part))).collect(), true)
        }
    };
    if folds_slash && segments.last().is_some_and(|last| last.as_deref() == Some("")) {
        segments.pop();
    }
    if folds_case {
        for segment in segments.iter_mut().flatten() {
            segment.to_mut().make_ascii_lowercase();
        }
    }
    Some(Shape { segments, is_open })
}

/// The segments of a path that begins with a slash; a trailing slash is an empty one.
fn split(path: &str) -> Option<Vec<Option<Cow<'_, str>>>> {
    let below = path.strip_prefix('/')?;
    Some(if below.is_empty() {
        Vec::new()
    } else {
        below.split('/').map(|part| Some(Cow::from(part))).collect()
    })
}

impl Shape<'_> {
    /// Whether every path of the other shape is of this one.
    fn holds(&self, inner: &Shape<'_>) -> bool {
        let (own, others) = (self.segments.len(), inner.segments.len());
        let fits = if self.is_open { own <= others } else { own == others && !inner.is_open };
        fits && self.segments.iter().zip(&inner.segments).all(|(outer, inner)| match (outer, inner) {
            (Some(outer), Some(inner)) => outer == inner,
            (Some(_), None) => false,
            (None, inner) => inner.as_deref() != Some(""),
        })
    }

    /// Whether no path is of both.
    fn excludes(&self, other: &Shape<'_>) -> bool {
        let is_too_short =
            |one: &Shape<'_>, other: &Shape<'_>| !one.is_open && one.segments.len() < other.segments.len();
        let differs = |pair: (&Option<Cow<'_, str>>, &Option<Cow<'_, str>>)| matches!(pair, (Some(one), Some(other)) if one != other);
        is_too_short(self, other)
            || is_too_short(other, self)
            || self.segments.iter().zip(&other.segments).any(differs)
    }
}
