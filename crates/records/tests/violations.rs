//! What the violation log promises, on SQLite and on PostgreSQL alike.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(dead_code, unused_imports, reason = "other tests use the rest")]
mod databases;

#[path = "violations/asking.rs"]
mod asking;
#[path = "violations/exporting.rs"]
mod exporting;
#[path = "violations/identifiers.rs"]
mod identifiers;
#[path = "violations/injection.rs"]
mod injection;
#[path = "violations/live.rs"]
mod live;
#[path = "violations/noting.rs"]
mod noting;
#[path = "violations/outages.rs"]
mod outages;
#[path = "violations/retention.rs"]
mod retention;

use tollgate_records::{
    MicroTokens, Records, Timestamp, Violation, ViolationCounts, ViolationFilter, ViolationLog,
    ViolationRecord, ViolationSettings,
};

/// When everything begins here: the start of an hour.
const BEGIN_SECONDS: i64 = 1_794_801_600;

/// So many seconds after the beginning.
fn second(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(BEGIN_SECONDS + seconds)
}

/// A denial of which nothing else matters.
fn denial<'a>(rule: &'a str, key: &'a str, at: Timestamp) -> Violation<'a> {
    Violation {
        rule,
        key,
        user: None,
        address: None,
        endpoint: None,
        at,
        tokens: MicroTokens(250_000),
        cost: MicroTokens::whole(1),
        reason: "rate_limited",
        door: "http",
    }
}

fn log(records: &Records) -> ViolationLog {
    ViolationLog::new(Some(records.clone()), thousands_a_second())
}

/// More rows a second than any test here has keys.
fn thousands_a_second() -> ViolationSettings {
    let mut settings = ViolationSettings::default();
    settings.rows_per_second = 4_000;
    settings
}

/// Every row, newest first.
async fn rows(records: &Records) -> Vec<ViolationRecord> {
    found(records, &ViolationFilter::default()).await
}

/// Every row that a filter finds, newest first, by pages.
async fn found(records: &Records, filter: &ViolationFilter) -> Vec<ViolationRecord> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = records.violations(filter, cursor, 1_000).await.unwrap();
        all.extend(page.violations);
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

/// The sums of the hourly totals, as counts.
async fn filed_totals(records: &Records) -> ViolationCounts {
    let mut sums = ViolationCounts::default();
    for totals in records.violation_totals(None, None, None).await.unwrap() {
        sums.denied += totals.denied;
        sums.stored += totals.stored;
        sums.sampled_out += totals.sampled_out;
        sums.dropped += totals.dropped;
    }
    sums
}

/// What is always true.
#[track_caller]
fn add_up(counts: ViolationCounts) {
    let ViolationCounts { denied, stored, sampled_out, dropped, queued } = counts;
    assert_eq!(denied, stored + sampled_out + dropped + queued, "{counts:?}");
}
