//! `tollgate schema`: the JSON schema of policies, for editors.

use serde_json::Value;
use tollgate::policy;

use crate::format;
use crate::page::Page;

/// The schema, as a document.
pub(crate) fn page() -> Page {
    Page::good(format::json(&policy::schema()))
}

/// Whether a file holds a schema of policies, of this version or another.
pub(crate) fn is_ours(text: &str) -> bool {
    let title = |schema: &Value| Some(schema.get("title")?.as_str()?.to_owned());
    let there = serde_json::from_str::<Value>(text).ok().as_ref().and_then(title);
    there.is_some() && there == title(&policy::schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_ours_is_known_and_another_file_is_not() {
        assert!(is_ours(&page().text));
        for text in ["", "{}", "[]", r#"{"title": "Something else"}"#, "not json"] {
            assert!(!is_ours(text), "{text}");
        }
    }
}
