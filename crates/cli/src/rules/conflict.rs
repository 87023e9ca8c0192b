//! Somebody else changed the rules meanwhile: who, what, when, and what to type next.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::admin::{self, AdminDoor, AdminError, Target};
use crate::problem::Problem;
use crate::visible::visible;
use crate::when;

/// Versions that are told of.
const VERSIONS_TOLD_MAX: u32 = 10;

/// Who made a version, when and why.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Version {
    #[serde(rename = "version")]
    pub(super) number: i64,
    pub(super) author: String,
    pub(super) comment: String,
    pub(super) created_at: String,
}

/// What the server lists.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Versions {
    pub(super) versions: Vec<Version>,
    pub(super) cursor: Option<i64>,
}

/// What came of a change of version `base`; of a conflict, with what was done since, as far as the server says. `again` is what to type.
pub(super) fn told<T>(
    done: Result<T, AdminError>,
    door: &AdminDoor,
    base: i64,
    again: &str,
) -> Result<T, Problem> {
    let Err(error) = done else { return done.map_err(Problem::from) };
    let Some(refusal) = error.refusal().filter(|refusal| refusal.is_conflict()) else {
        return Err(error.into());
    };
    let since = since(door, base).unwrap_or_default();
    let mut text = match (refusal.current_version, &refusal.by, &refusal.at) {
        (Some(current), Some(by), Some(at)) => format!(
            "nothing was changed: the rules are at version {current}, made by {} at {}, and the change is of version {base}",
            visible(by),
            visible(&when::shown(at))
        ),
        _ => format!("nothing was changed: {refusal}"),
    };
    for version in since {
        let Version { number, author, comment, created_at } = version;
        let _ = write!(
            text,
            "\n  {number}  {}  {}  {}",
            when::shown(&created_at),
            visible(&author),
            visible(&comment)
        );
    }
    let _ =
        write!(text, "\nsee what changed with `tollgate rules diff --version N`, then type again: {again}");
    Err(Problem::Conflict(text))
}

/// The versions after `base`, the newest first.
fn since(door: &AdminDoor, base: i64) -> Result<Vec<Version>, AdminError> {
    let answer = door.get(&Target::new(&["versions"]).with("limit", Some(VERSIONS_TOLD_MAX)))?;
    let Versions { versions, .. } = admin::read(&answer)?;
    Ok(versions.into_iter().filter(|version| version.number > base).collect())
}
