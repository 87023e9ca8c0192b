//! `tollgate schema`: the JSON schema of policies, for editors.

use serde_json::Value;
use tollgate::policy;

use crate::page::Page;

/// The schema, as a document.
pub(crate) fn page() -> Page {
    let mut text = policy::schema().trim_end().to_owned();
    text.push('\n');
    Page::good(text)
}

/// Whether a file holds a schema of policies, of this version or another.
pub(crate) fn is_ours(text: &str) -> bool {
    let title = |text: &str| Some(serde_json::from_str::<Value>(text).ok()?.get("title")?.as_str()?.to_owned());
    title(text).is_some() && title(text) == title(&page().text)
}
