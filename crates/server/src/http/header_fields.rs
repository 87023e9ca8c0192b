//! Header fields of a request as the rule book looks at them.

use http::{HeaderMap, HeaderValue};
use tollgate::policy::Headers;

/// A view of a request's header fields. Copies nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderFields<'a>(pub(super) &'a HeaderMap);

impl<'a> HeaderFields<'a> {
    /// The values of the field, in order.
    fn values(self, name: &str) -> impl Iterator<Item = &'a HeaderValue> {
        self.0.get_all(name).into_iter()
    }

    /// The only value of the field, if it is text.
    pub(super) fn only(self, name: &str) -> Option<&'a str> {
        let mut values = self.values(name);
        let only = values.next()?;
        if values.next().is_some() { None } else { text(only) }
    }
}

impl Headers for HeaderFields<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.only(name)
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
