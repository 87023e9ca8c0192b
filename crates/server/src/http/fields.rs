//! Header fields to be added to a response.

use http::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

/// Names that answers use, parsed when this was compiled.
static KNOWN: [(&str, HeaderName); 11] = [
    ("RateLimit-Policy", HeaderName::from_static("ratelimit-policy")),
    ("RateLimit", HeaderName::from_static("ratelimit")),
    ("Retry-After", HeaderName::from_static("retry-after")),
    ("Cache-Control", HeaderName::from_static("cache-control")),
    ("Tollgate-Reason", HeaderName::from_static("tollgate-reason")),
    ("RateLimit-Limit", HeaderName::from_static("ratelimit-limit")),
    ("RateLimit-Remaining", HeaderName::from_static("ratelimit-remaining")),
    ("RateLimit-Reset", HeaderName::from_static("ratelimit-reset")),
    ("X-RateLimit-Limit", HeaderName::from_static("x-ratelimit-limit")),
    ("X-RateLimit-Remaining", HeaderName::from_static("x-ratelimit-remaining")),
    ("X-RateLimit-Reset", HeaderName::from_static("x-ratelimit-reset")),
];

/// Fields, in the order in which they were rendered.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Names and values, one behind the other.
    text: String,
    /// Where in the text a name ends, and its value.
    ends: SmallVec<[(usize, usize); USUAL]>,
}

/// Fields that a response has at most where nothing is unusual.
const USUAL: usize = 6;
/// Bytes of these: room is made for them at once.
const USUAL_BYTES: usize = 256;

impl Fields {
    /// Adds one. What is no header field is left out; the answer's renderer makes none such.
    pub(super) fn push(&mut self, name: &str, value: &str) {
        let is_field =
            KNOWN.iter().any(|(known, _)| *known == name) || HeaderName::from_bytes(name.as_bytes()).is_ok();
        if !is_field || !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
            return;
        }
        if self.text.is_empty() {
            self.text.reserve(USUAL_BYTES);
        }
        self.text.push_str(name);
        let name_end = self.text.len();
        self.text.push_str(value);
        self.ends.push((name_end, self.text.len()));
    }

    /// Name and value of each.
    pub(super) fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut begin = 0;
        self.ends.iter().map(move |&(name_end, end)| {
            let field = (&self.text[begin..name_end], &self.text[name_end..end]);
            begin = end;
            field
        })
    }

    /// As the header of a response.
    pub(super) fn header(&self) -> HeaderMap {
        let mut header = HeaderMap::with_capacity(USUAL);
        for (name, value) in self.each() {
            let name = match KNOWN.iter().find(|(known, _)| *known == name) {
                Some((_, parsed)) => Ok(parsed.clone()),
                None => HeaderName::from_bytes(name.as_bytes()),
            };
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
                header.append(name, value);
            }
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_what_is_none_is_left_out() {
        let mut fields = Fields::default();
        for (name, value) in [
            ("RateLimit", "\"a\";r=1"),
            ("X-Own", "b"),
            ("Retry-After", "1\r\nset-cookie: a=b"),
            ("no field", "c"),
            ("", "d"),
            ("X-Bytes", "caf\u{e9}"),
            ("X-Empty", ""),
            ("Retry-After", "2"),
        ] {
            fields.push(name, value);
        }
        let kept = [("RateLimit", "\"a\";r=1"), ("X-Own", "b"), ("X-Empty", ""), ("Retry-After", "2")];
        assert!(fields.each().eq(kept));
        let header = fields.header();
        let header = header.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        assert!(
            header.eq(kept
                .map(|(name, value)| (name.to_ascii_lowercase(), value))
                .iter()
                .map(|(name, value)| (name.as_str(), *value)))
        );
    }
}
