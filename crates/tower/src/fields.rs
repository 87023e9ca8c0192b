//! A list of header fields to be added to a response.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Fields, each name once.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    list: Vec<(HeaderName, HeaderValue)>,
}

impl Fields {
    /// Adds one. What is no header field is left out; the answer's renderer makes none such.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            self.list.push((name, value));
        }
    }

    /// Whether a response has one of them already.
    pub(crate) fn is_any_in(&self, headers: &HeaderMap) -> bool {
        self.list.iter().any(|(name, _)| headers.contains_key(name))
    }

    /// Adds all to a response.
    pub(crate) fn write_to(self, headers: &mut HeaderMap) {
        if !self.list.is_empty() {
            headers.extend(self.list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_field_is_left_out() {
        let (mut fields, mut headers) = (Fields::default(), HeaderMap::new());
        fields.push("a b", "1");
        fields.push("a", "1\r\n2");
        fields.write_to(&mut headers);
        assert!(headers.is_empty());
    }
}
