//! All violations, as the server writes them: it has made them harmless for spreadsheets.

use std::io;

use super::{Export, ViolationsFlags};
use crate::admin::AdminDoor;
use crate::page::Page;
use crate::problem::Problem;

pub(super) fn page(door: &AdminDoor, flags: &ViolationsFlags, export: Export) -> Result<Page, Problem> {
    let format = match export {
        Export::Csv => "csv",
        Export::Jsonl => "jsonl",
    };
    let target = flags.target(&["violations", "export"]).with("format", Some(format));
    match door.copy(&target, &mut io::stdout().lock())? {
        // A reader that has seen enough has been served.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Problem::Output(error)),
        _ => Ok(Page::good(String::new())),
    }
}
