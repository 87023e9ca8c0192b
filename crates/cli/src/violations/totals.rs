//! The true counts of denials, by rule: what is on record, what was only counted, and what was lost.

use serde::Deserialize;

use super::{ViolationsFlags, moment};
use crate::admin::{self, AdminDoor, Target};
use crate::format::{self, Format};
use crate::listing::Listing;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TotalsTold {
    totals: Vec<Total>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Total {
    rule: String,
    denied: u64,
    stored: u64,
    sampled_out: u64,
    dropped: u64,
}

pub(super) fn page(door: &AdminDoor, flags: &ViolationsFlags, screen: &Screen) -> Result<Page, Problem> {
    let target = Target::new(&["violations", "totals"])
        .with("rule", flags.rule.as_deref())
        .with("since", moment(flags.since))
        .with("until", moment(flags.until));
    let answer = door.get(&target)?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&admin::read(&answer)?, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(list: &TotalsTold, ink: Ink) -> String {
    let mut listing = Listing::new(&["RULE", "DENIED#", "ON RECORD#", "ONLY COUNTED#", "LOST#"]);
    for total in &list.totals {
        let counts = [total.denied, total.stored, total.sampled_out, total.dropped].map(|count| count.to_string());
        listing.push([&*total.rule].into_iter().chain(counts.iter().map(String::as_str)));
    }
    if listing.is_empty() { "Nobody was denied.\n".to_owned() } else { listing.text(ink) }
}
