//! Header fields of a request as the rule book looks at them.

use http::{HeaderMap, HeaderValue};

use crate::Headers;

/// Up to so many names it is cheaper to look at each than to parse and hash the one that is looked for, which is mostly absent.
const NAMES_SCANNED_MAX: usize = 16;

/// A view of a request's header fields. Copies nothing.
#[derive(Debug, Clone, Copy)]
pub struct HeaderFields<'a>(pub &'a HeaderMap);

impl<'a> HeaderFields<'a> {
    /// The values of the field, in order.
    fn values(self, name: &str) -> impl Iterator<Item = &'a HeaderValue> {
        let values = if self.has(name) { Some(self.0.get_all(name)) } else { None };
        values.into_iter().flatten()
    }

    /// The only value of the field, if it is text.
    pub fn only(self, name: &str) -> Option<&'a str> {
        let mut values = self.values(name);
        let only = values.next()?;
        if values.next().is_some() { None } else { text(only) }
    }

    /// Whether the field is there.
    #[inline]
    fn has(self, name: &str) -> bool {
        if self.0.keys_len() > NAMES_SCANNED_MAX {
            return self.0.contains_key(name);
        }
        self.0.keys().any(|known| known.as_str().eq_ignore_ascii_case(name))
    }
}

impl Headers for HeaderFields<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.only(name)
    }

    fn is_present(&self, name: &str) -> bool {
        self.has(name)
    }

    fn first(&self, name: &str) -> Option<&str> {
        self.values(name).next().and_then(text)
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        // `iter` names a field as often as it occurs.
        self.0.iter().for_each(|(name, _)| visit(name.as_str()));
    }

    fn each_value(&self, name: &str, visit: &mut dyn FnMut(&str)) {
        self.values(name).filter_map(text).for_each(visit);
    }

    fn each_line(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        self.values(name).map(HeaderValue::as_bytes).for_each(visit);
    }
}

/// The value if it is text: UTF-8, as some send names.
fn text(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> HeaderMap {
        let mut map = HeaderMap::new();
        map.append("x-api-key", HeaderValue::from_static("k1"));
        map.append("cookie", HeaderValue::from_static("a=1"));
        map.append("cookie", HeaderValue::from_static("b=2"));
        map.append("x-raw", HeaderValue::from_bytes(b"\xff\xfe").unwrap());
        map
    }

    #[test]
    fn of_two_values_none_is_the_value() {
        let map = map();
        let fields = HeaderFields(&map);
        assert_eq!(fields.get("x-api-key"), Some("k1"));
        assert_eq!(fields.get("cookie"), None);
        assert_eq!(fields.get("x-raw"), None, "bytes that are no text");
        assert_eq!(fields.get("no such field, nor a name"), None);
    }

    #[test]
    fn a_field_is_found_in_any_case_among_few_and_among_many() {
        let mut map = map();
        for _ in 0..2 {
            let fields = HeaderFields(&map);
            assert_eq!((fields.get("X-API-Key"), fields.get("x-api-ke")), (Some("k1"), None));
            for number in 0..NAMES_SCANNED_MAX {
                let name = http::HeaderName::from_bytes(format!("x-{number}").as_bytes()).unwrap();
                map.append(name, HeaderValue::from_static("v"));
            }
        }
    }

    #[test]
    fn names_come_as_often_as_they_occur_and_values_in_order() {
        let map = map();
        let fields = HeaderFields(&map);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        fields.each_name(&mut |name| names.push(name.to_owned()));
        fields.each_value("cookie", &mut |value| values.push(value.to_owned()));
        names.sort();
        assert_eq!(names, ["cookie", "cookie", "x-api-key", "x-raw"]);
        assert_eq!(values, ["a=1", "b=2"]);
        let mut lines = Vec::new();
        fields.each_line("x-raw", &mut |line| lines.push(line.to_owned()));
        assert_eq!(lines, [b"\xff\xfe"], "what is no text is a line all the same");
    }
}
