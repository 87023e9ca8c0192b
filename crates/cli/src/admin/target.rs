//! What is asked for: a path of the admin API and what stands behind its question mark.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for itself in a path or a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path and a query. Every part is encoded, so that no name or key can reach another route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target(String);

impl Target {
    /// The path of these segments under `/admin/v1`.
    pub(crate) fn new(segments: &[&str]) -> Target {
        let mut text = "/admin/v1".to_owned();
        for segment in segments {
            text.push('/');
            // A name of dots alone would be taken for a way up by whoever stands between.
            match *segment {
                "." | ".." => text.push_str(&segment.replace('.', "%2E")),
                segment => text.extend(utf8_percent_encode(segment, ENCODED)),
            }
        }
        Target(text)
    }

    /// With a parameter, if it has a value.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: Option<impl fmt::Display>) -> Target {
        if let Some(value) = value {
            self.0.push(if self.0.contains('?') { '&' } else { '?' });
            self.0.extend([name, "="]);
            self.0.extend(utf8_percent_encode(&value.to_string(), ENCODED));
        }
        self
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_or_key_reaches_another_route() {
        let target = Target::new(&["rules", "a/../b?x#y %\n"]).with("key", Some("user:42&rule=é"));
        assert_eq!(
            target.as_str(),
            "/admin/v1/rules/a%2F..%2Fb%3Fx%23y%20%25%0A?key=user%3A42%26rule%3D%C3%A9"
        );
        assert_eq!(Target::new(&["rules", ".."]).as_str(), "/admin/v1/rules/%2E%2E");
    }

    #[test]
    fn a_parameter_without_a_value_is_left_out() {
        let target = Target::new(&["violations"]).with("user", None::<&str>).with("limit", Some(5));
        assert_eq!(target.as_str(), "/admin/v1/violations?limit=5");
    }
}
