//! The true counts of denials, by rule: what is on record, what was only counted, and what was lost.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ViolationsFlags, sent};
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

/// Of a rule in an hour.
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
        .with("since", sent(flags.since))
        .with("until", sent(flags.until));
    let answer = door.get(&target)?;
    Ok(Page::good(match flags.asking.format.chosen() {
        Format::Table => table(&admin::read(&answer)?, screen.ink),
        Format::Json => format::json(&answer),
    }))
}

fn table(list: &TotalsTold, ink: Ink) -> String {
    let mut by_rule: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for total in &list.totals {
        let sums = by_rule.entry(&total.rule).or_default();
        let counts = [total.denied, total.stored, total.sampled_out, total.dropped];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
    }
    let mut listing = Listing::new(&["RULE", "DENIED#", "ON RECORD#", "ONLY COUNTED#", "LOST#"]);
    for (rule, sums) in by_rule {
        let counts = sums.map(|count| count.to_string());
        listing.push([rule].into_iter().chain(counts.iter().map(String::as_str)));
    }
    if listing.is_empty() { "Nobody was denied.\n".to_owned() } else { listing.text(ink) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hours_of_a_rule_are_added_up() {
        let list: TotalsTold = serde_json::from_value(json!({ "totals": [
            { "rule": "api", "hour": "2026-11-16T05:00:00.000000Z", "denied": 10, "stored": 3, "sampled_out": 6, "dropped": 1 },
            { "rule": "api", "hour": "2026-11-16T04:00:00.000000Z", "denied": 1, "stored": 1, "sampled_out": 0, "dropped": 0 },
        ] }))
        .unwrap();
        let expected = "\
RULE  DENIED  ON RECORD  ONLY COUNTED  LOST
api       11          4             6     1
";
        assert_eq!(table(&list, Ink::Plain), expected);
    }
}
