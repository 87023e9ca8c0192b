//! Violations as they come: the server is asked every second for those that are new.

use std::time::Duration;

use serde_json::Value;
use tollgate_records::Timestamp;

use super::ViolationsFlags;
use super::listing::{ViolationTold, ViolationsTold, lines};
use crate::admin::{self, AdminDoor, Target};
use crate::format::Format;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{self, Screen};
use crate::visible::visible_json;

/// How often the server is asked.
const EVERY: Duration = Duration::from_secs(1);
/// How much later than others a violation may come on record, in seconds: they are written in batches.
const LATE_SECONDS_MAX: i64 = 30;

/// Shows them until whoever reads has seen enough.
pub(super) fn page(door: &AdminDoor, flags: &ViolationsFlags, screen: &Screen) -> Result<Page, Problem> {
    let status = door.get(&Target::new(&["status"]))?;
    // By the server's clock: violations bear its times.
    let now = status
        .get("unix_s")
        .and_then(Value::as_i64)
        .map_or_else(Timestamp::now, Timestamp::from_unix_seconds);
    let begin = flags.since.map_or(now, |when| when.before(now));
    let (mut newest, mut last_id, mut is_first) = (begin, 0, true);
    loop {
        let since = Timestamp::from_unix_seconds(newest.unix_seconds() - LATE_SECONDS_MAX).max(begin);
        let target = flags.of_whom(&["violations"]).with("since", Some(since));
        let answer = door.get(&target.with("limit", Some(flags.limit)))?;
        let told: ViolationsTold = admin::read(&answer)?;
        let rows = answer.get("violations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut fresh: Vec<(&Value, &ViolationTold)> =
            rows.iter().zip(&told.violations).filter(|(_, told)| told.violation_id > last_id).collect();
        fresh.sort_by_key(|(_, told)| told.violation_id);
        if let Some((_, last)) = fresh.last() {
            last_id = last.violation_id;
            let latest = fresh.iter().filter_map(|(_, told)| Timestamp::parse(&told.requested_at)).max();
            newest = latest.map_or(newest, |latest| latest.max(newest));
        }
        let text: String = match flags.asking.format.chosen() {
            Format::Json => fresh.iter().map(|(row, _)| visible_json(&row.to_string()) + "\n").collect(),
            Format::Table if fresh.is_empty() => String::new(),
            Format::Table => {
                let text = lines(fresh.iter().map(|(_, told)| *told)).text(screen.ink);
                let headings = text.find('\n').map_or(0, |end| end + 1);
                text.get(if is_first { 0 } else { headings }..).unwrap_or_default().to_owned()
            }
        };
        is_first &= text.is_empty();
        if !screen::show_more(&text)? {
            return Ok(Page::good(String::new()));
        }
        door.wait(EVERY);
    }
}
