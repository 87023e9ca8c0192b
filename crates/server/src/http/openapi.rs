//! `/openapi.json`: what the HTTP door answers, for programs that write clients.

use super::{Reply, answer};

/// The document.
pub(crate) const DOCUMENT: &str = include_str!("openapi.json");

/// `GET /openapi.json`.
pub(super) fn reply() -> Reply {
    answer::text("application/json", DOCUMENT)
}
