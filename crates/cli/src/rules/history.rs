//! How the rules on record became what they are, and the way back.

use serde_json::json;

use super::apply::{between_versions, made, tell};
use super::conflict::{self, Versions};
use super::flags::{HistoryFlags, RollbackFlags};
use super::on_record;
use crate::admin::{self, AdminDoor, Target};
use crate::confirm::confirm;
use crate::format::{self, Format};
use crate::listing::Listing;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};
use crate::when;

pub(super) fn list(flags: &HistoryFlags, screen: &Screen) -> Result<Page, Problem> {
    let target = Target::new(&["versions"]).with("cursor", flags.before).with("limit", Some(flags.limit));
    let answer = AdminDoor::of(&flags.asking.admin)?.get(&target)?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&admin::read(&answer)?, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(list: &Versions, ink: Ink) -> String {
    let mut listing = Listing::new(&["VERSION#", "WHEN", "WHO", "WHY"]);
    for version in &list.versions {
        let (number, at) = (version.number.to_string(), when::shown(&version.created_at));
        listing.push([&*number, &at, &version.author, &version.comment]);
    }
    if listing.is_empty() {
        return "No version is on record; put rules there with `tollgate rules apply FILE`.\n".to_owned();
    }
    let mut text = listing.text(ink);
    if let Some(cursor) = list.cursor {
        text.push_str(&ink.faint(&format!("Earlier ones: tollgate rules history --before {cursor}")));
        text.push('\n');
    }
    text
}

pub(super) fn rollback(flags: &RollbackFlags) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let base = on_record::version(&door)?;
    let (_, difference) = between_versions(&door, flags.version, Some(base))?;
    tell(&difference);
    let question = format!(
        "Go back from version {base} to what version {} was ({})?",
        flags.version,
        difference.summary()
    );
    confirm(&question, flags.changing.yes)?;
    let target = Target::new(&["versions", &flags.version.to_string(), "rollback"]);
    let done = door.post(&target, &json!({ "base_version": base, "comment": flags.changing.comment }));
    let again = format!("tollgate rules rollback {}", flags.version);
    let version = conflict::told(done, &door, base, &again)?;
    let what = format!("it is what version {} was ({})", flags.version, difference.summary());
    Ok(made(&version, &what, flags.asking.format.chosen()))
}
