//! Rules from files: what is wrong with them, what they would change, and the change itself.

use std::io::{self, Write as _};

use serde::Deserialize;
use serde_json::{Value, json};

use super::conflict;
use super::difference::{Difference, VersionDifference};
use super::flags::{ApplyFlags, DiffFlags, FilesFlags};
use super::rule_file::Proposal;
use crate::admin::{self, AdminDoor, AdminError, Target};
use crate::confirm::confirm;
use crate::format::{self, Format};
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;
use crate::visible::{visible, visible_lines};

/// What the server says of a proposal.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Judgement {
    valid: bool,
    mistakes: Vec<String>,
    notes: Vec<String>,
}

pub(super) fn validate(flags: &FilesFlags) -> Result<Page, Problem> {
    let proposal = Proposal::read(&flags.files)?;
    let door = AdminDoor::of(&flags.asking.admin)?;
    let answer = door.post(&Target::new(&["rules", "validate"]), &proposal.body(flags.prune, Value::Null))?;
    let judgement: Judgement = admin::read(&answer)?;
    let text = match flags.asking.format.chosen() {
        Format::Json => format::json(&answer),
        Format::Table if judgement.valid => {
            let notes = judgement.notes.iter().map(|note| format!("note: {}\n", visible(note)));
            notes.chain(["The rules are sound.\n".to_owned()]).collect()
        }
        Format::Table => {
            visible_lines(&judgement.mistakes.join(
                "
",
            )) + "
"
        }
    };
    Ok(Page { text, is_good: judgement.valid })
}

pub(super) fn diff(flags: &DiffFlags, screen: &Screen) -> Result<Page, Problem> {
    let (answer, difference) = if let Some(version) = flags.version {
        between_versions(&AdminDoor::of(&flags.asking.admin)?, version, flags.against)?
    } else {
        let proposal = Proposal::read(&flags.files)?;
        proposed(&AdminDoor::of(&flags.asking.admin)?, &proposal, flags.prune)?
    };
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table if difference.is_empty() => "Nothing differs.\n".to_owned(),
        Format::Table => difference.text(screen.ink),
        Format::Json => format::json(&answer),
    }))
}

/// What became of one version until another.
pub(super) fn between_versions(
    door: &AdminDoor,
    version: i64,
    against: Option<i64>,
) -> Result<(Value, Difference), AdminError> {
    let target = Target::new(&["versions", &version.to_string(), "diff"]).with("against", against);
    let answer = door.get(&target)?;
    let difference: VersionDifference = admin::read(answer.get("diff").unwrap_or(&Value::Null))?;
    Ok((answer, difference.into()))
}

fn proposed(door: &AdminDoor, proposal: &Proposal, prune: bool) -> Result<(Value, Difference), AdminError> {
    let answer = door.post(&Target::new(&["rules", "diff"]), &proposal.body(prune, Value::Null))?;
    let difference = admin::read(&answer)?;
    Ok((answer, difference))
}

pub(super) fn apply(flags: &ApplyFlags) -> Result<Page, Problem> {
    let ApplyFlags { files: FilesFlags { files, prune, asking }, changing, base_version } = flags;
    let proposal = Proposal::read(files)?;
    let door = AdminDoor::of(&asking.admin)?;
    let (answer, difference) = proposed(&door, &proposal, *prune)?;
    let shown_for = answer.get("version").and_then(Value::as_i64).unwrap_or_default();
    let base = base_version.unwrap_or(shown_for);
    tell(&difference);
    if difference.is_empty() && base == shown_for {
        return Ok(Page::good(match asking.format.chosen() {
            Format::Table => format!("Nothing to change; the rules stay at version {base}.\n"),
            Format::Json => format::json(&json!({ "version": base, "changed": false })),
        }));
    }
    confirm(&format!("Change version {base} ({})?", difference.summary()), changing.yes)?;
    let body = proposal.body(*prune, json!({ "base_version": base, "comment": changing.comment }));
    let done = door.post(&Target::new(&["rules", "apply"]), &body);
    let version = conflict::told(done, &door, base, "tollgate rules apply FILE…")?;
    Ok(made(&version, &difference.summary(), asking.format.chosen()))
}

/// Shows a change before it is asked about, where questions are.
pub(super) fn tell(difference: &Difference) {
    let _ = write!(io::stderr(), "{}", difference.text(Screen::of_stderr().ink));
}

/// A version that was made.
pub(super) fn made(version: &Value, what: &str, format: Format) -> Page {
    Page::good(match format {
        Format::Table => {
            let number = version.get("version").and_then(Value::as_i64).unwrap_or_default();
            format!("Version {number} is on record: {what}.\n")
        }
        Format::Json => format::json(version),
    })
}
