//! A full rule, or a group, as text.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::{DESCRIPTION_BYTES_MAX, ENTRY_BYTES_MAX, NAME_BYTES_MAX, RecordsError};

/// A full rule, or a group, as a policy file would list it under `rules`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The name of its rule.
    pub name: String,
    /// YAML or JSON.
    pub text: String,
    /// Whether it is enforced.
    pub is_active: bool,
    /// What people say of it.
    pub description: Option<String>,
}

impl Entry {
    /// An active one, without description.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Entry {
        Entry { name: name.into(), text: text.into(), is_active: true, description: None }
    }

    pub(super) fn check(&self) -> Result<(), RecordsError> {
        limits::text("name", &self.name, NAME_BYTES_MAX)?;
        limits::text("text", &self.text, ENTRY_BYTES_MAX)?;
        limits::text_or_empty(
            "description",
            self.description.as_deref().unwrap_or_default(),
            DESCRIPTION_BYTES_MAX,
        )
    }
}
