//! Single rules on record: taken off, switched, written out.

use std::io;

use serde::Deserialize;
use serde_json::{Value, json};

use super::apply::made;
use super::conflict;
use super::flags::{DeleteFlags, ExportFlags, Language, SwitchFlags};
use crate::admin::{self, AdminDoor, AdminError, Target};
use crate::confirm::confirm;
use crate::page::Page;
use crate::problem::Problem;
use crate::visible::visible;

/// What is on record, as far as it is needed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OnRecord {
    version: i64,
}

/// The version of the rules on record.
pub(super) fn version(door: &AdminDoor) -> Result<i64, AdminError> {
    let answer = door.get(&Target::new(&["rules", "export"]).with("format", Some("json")))?;
    admin::read::<OnRecord>(&answer).map(|on_record| on_record.version)
}

pub(super) fn delete(flags: &DeleteFlags) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let base = version(&door)?;
    let name = visible(&flags.name);
    confirm(
        &format!("Take the rule {name} off the record, which is at version {base}?"),
        flags.changing.yes,
    )?;
    let body = json!({ "base_version": base, "comment": flags.changing.comment });
    let done = door.delete(&Target::new(&["rules", &flags.name]), &body);
    let version = conflict::told(done, &door, base, &format!("tollgate rules delete {name}"))?;
    Ok(made(&version, &format!("{name} is off the record"), flags.asking.format.chosen()))
}

/// `activate` or `deactivate`.
pub(super) fn switch(flags: &SwitchFlags, way: &str) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let base = version(&door)?;
    let name = visible(&flags.name);
    let body = json!({ "base_version": base, "comment": flags.comment });
    let done = door.post(&Target::new(&["rules", &flags.name, way]), &body);
    let version: Value = conflict::told(done, &door, base, &format!("tollgate rules {way} {name}"))?;
    Ok(made(&version, &format!("{name} is {way}d"), flags.asking.format.chosen()))
}

/// As the server wrote it.
pub(super) fn export(flags: &ExportFlags) -> Result<Page, Problem> {
    let language = match flags.output {
        Language::Yaml => "yaml",
        Language::Json => "json",
    };
    let target = Target::new(&["rules", "export"]).with("format", Some(language));
    let mut rules = Vec::new();
    AdminDoor::of(&flags.admin)?.copy(&target, &mut rules)?.map_err(Problem::Output)?;
    let mut text = String::from_utf8(rules)
        .map_err(|error| Problem::Output(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Page::good(text))
}
