//! What stands behind the question mark of a target: names and values, bounded and known.

use std::str::FromStr;

use percent_encoding::percent_decode_str;

use crate::http::{Problem, shown};

/// Longest value, in bytes.
const VALUE_BYTES_MAX: usize = 4 * 1_024;

/// Names and values that were asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Reads them; a name that is not among `names`, or there twice, is refused.
    pub(super) fn read(text: &str, names: &[&'static str]) -> Result<Query, Problem> {
        let mut query = Query::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name)?;
            let Some(known) = names.iter().copied().find(|known| *known == name) else {
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let detail = format!("`{}` is no parameter of this path; there are: {known}", shown(&name));
                return Err(bad(&name, detail));
            };
            if query.get(known).is_some() {
                return Err(bad(known, format!("`{known}` is there twice; send it once")));
            }
            let value = decoded(value)?;
            if value.contains('\0') {
                let detail = format!("`{known}` has a NUL byte, which nothing on record has; leave it out");
                return Err(bad(known, detail));
            }
            if value.len() > VALUE_BYTES_MAX {
                let detail = format!("`{known}` is longer than {VALUE_BYTES_MAX} bytes; use a shorter one");
                return Err(bad(known, detail));
            }
            query.0.push((known, value));
        }
        Ok(query)
    }

    /// The value of this name, if it is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The same, where there must be one.
    pub(super) fn must(&self, name: &str) -> Result<&str, Problem> {
        let value = self.get(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| bad(name, format!("`{name}` is missing; add it, as in ?{name}=…")))
    }

    /// The same as a number or another thing that is read from text, which is `what`.
    pub(super) fn parsed<T: FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let value =
            text.parse().map_err(|_| bad(name, format!("`{name}` is '{}'; use {what}", shown(text))))?;
        Ok(Some(value))
    }

    /// How many of a list are wanted: `usual` unless something else is said, `most` at most.
    pub(super) fn limit(&self, usual: u32, most: u32) -> Result<u32, Problem> {
        let what = format!("a whole number from 1 to {most}");
        let limit = self.parsed("limit", &what)?.unwrap_or(usual);
        if (1..=most).contains(&limit) {
            return Ok(limit);
        }
        Err(bad("limit", format!("`limit` is {limit}; use {what}")))
    }
}

fn decoded(text: &str) -> Result<String, Problem> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    let detail = || "the query is no UTF-8; encode it, as in key=user%3A42".to_owned();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| Problem::bad(detail()).because("bad_query"))
}

fn bad(field: &str, detail: String) -> Problem {
    Problem::field(shown(field), detail).because("bad_query")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_meant() {
        let query = Query::read("rule=a%26b&key=user%3A42+x&", &["rule", "key", "limit"]).unwrap();
        assert_eq!((query.get("rule"), query.must("key").unwrap()), (Some("a&b"), "user:42 x"));
        assert_eq!(query.limit(20, 100).unwrap(), 20);
        assert!(query.must("limit").is_err());
    }

    #[test]
    fn what_nobody_asked_for_is_refused_with_its_name() {
        for text in
            ["ruel=a", "rule=a&rule=b", "rule=%ff", "=a", "limit=0", "limit=101", "limit=x", "limit=-1"]
        {
            let told =
                Query::read(text, &["rule", "limit"]).and_then(|query| query.limit(1, 100).map(|_| query));
            assert_eq!(told.unwrap_err().status.as_u16(), 400, "{text}");
        }
        assert!(Query::read(&format!("rule={}", "a".repeat(5_000)), &["rule"]).is_err());
    }
}
