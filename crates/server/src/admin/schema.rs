//! `GET /admin/v1/schema`: the JSON schema of policies, for editors; `tollgate schema` prints the same.

use std::sync::LazyLock;

use tollgate::policy;

use super::call::Call;
use crate::http::{Problem, Reply, reply_text};

static SCHEMA: LazyLock<String> = LazyLock::new(|| policy::schema().to_string());

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    Ok(reply_text("application/schema+json", SCHEMA.as_str()))
}
