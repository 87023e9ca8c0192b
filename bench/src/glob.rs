//! A pattern of case names in which `*` stands for any run of characters, slashes too.
//!
//! Every other character stands for itself; there are no `?`, classes or escapes.

/// A pattern such as `str/1000000/*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob(String);

impl Glob {
    /// Takes any text; without a `*` it matches itself alone.
    pub(crate) fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// The pattern as it was typed.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern covers the whole of `name`.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let Some((head, tail)) = self.0.split_once('*') else { return self.0 == name };
        let Some(mut rest) = name.strip_prefix(head) else { return false };
        let mut pieces: Vec<&str> = tail.split('*').collect();
        let last = pieces.pop().unwrap_or_default();
        // Leftmost is enough for every piece but the last: it leaves the most for the pieces that follow.
        for piece in pieces {
            let Some(at) = rest.find(piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn a_star_stands_for_any_run_and_the_rest_for_itself() {
        for (pattern, name, expected) in [
            ("str/1/hot/2t/single", "str/1/hot/2t/single", true),
            ("str/1/hot/2t/single", "str/1/hot/2t/singles", false),
            ("*", "", true),
            ("*", "anything/at/all", true),
            ("str/1/*", "str/1/hot/1t/single", true),
            ("str/1/*", "str/10000/uniform/1t/single", false),
            ("*/2t/*", "str/1/hot/2t/single", true),
            ("*/2t/*", "str/1/hot/1t/single", false),
            ("*zipf*single", "str/1000000/zipf/1t/single", true),
            ("*zipf*batch16", "str/1000000/zipf/1t/single", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*ab*b", "aabb", true),
            ("", "x", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }
}
