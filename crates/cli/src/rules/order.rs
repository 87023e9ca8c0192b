//! Orders about whole rules: another mode, and the kill switch.

use serde_json::json;

use super::flags::{Does, KillFlags, ModeFlags};
use crate::admin::AdminDoor;
use crate::confirm::confirm;
use crate::orders;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;
use crate::visible::visible;

pub(super) fn mode(flags: &ModeFlags, screen: &Screen) -> Result<Page, Problem> {
    let mode = match flags.mode {
        Does::Shadow => "shadow",
        Does::Enforce => "enforce",
        Does::Off => "off",
    };
    let order = json!({ "kind": "mode", "rule": flags.rule, "mode": mode });
    orders::give(
        &AdminDoor::of(&flags.asking.admin)?,
        order,
        &flags.why,
        flags.asking.format.chosen(),
        screen,
    )
}

pub(super) fn kill(flags: &KillFlags, screen: &Screen) -> Result<Page, Problem> {
    let door = AdminDoor::of(&flags.asking.admin)?;
    let what = match &flags.rule {
        Some(rule) => format!("every request that the rule {} governs", visible(rule)),
        None => "EVERY request".to_owned(),
    };
    confirm(&format!("Refuse {what}?"), flags.yes)?;
    let mut order = json!({ "kind": "kill_switch" });
    if let (Some(rule), Some(fields)) = (&flags.rule, order.as_object_mut()) {
        fields.insert("rule".to_owned(), json!(rule));
    }
    orders::give(&door, order, &flags.why, flags.asking.format.chosen(), screen)
}
