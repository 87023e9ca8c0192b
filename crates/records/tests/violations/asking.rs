//! Questions to the log: filters, pages, cursors.

use tollgate_records::{EndpointFilter, PAGE_MAX, Records, Violation, ViolationCursor, ViolationFilter};

use super::{denial, found, log, rows, second};
use crate::databases::Place;

on_both!(
    each_filter_finds_its_rows_and_no_others,
    pages_hold_every_row_once_whatever_is_stored_meanwhile,
    rows_of_one_moment_are_told_apart_by_a_cursor,
    nobody_is_given_more_than_a_page,
);

/// Who was denied where, at which second.
async fn four_denials(records: &Records) {
    let log = log(records);
    for (user, address, rule, endpoint, at) in [
        ("alice", "203.0.113.1", "login", "/login", 0),
        ("bob", "203.0.113.1", "search", "/api/search", 1),
        ("alice", "2001:db8::1", "search", "/api/search/deep", 2),
        ("Alice", "2001:db8::2", "login", "/API/search", 3),
    ] {
        log.note(Violation {
            user: Some(user),
            address: Some(address.parse().unwrap()),
            endpoint: Some(endpoint),
            ..denial(rule, user, second(at))
        });
    }
    log.note(denial("search", "nobody", second(4)));
    log.flush().await.unwrap();
}

async fn each_filter_finds_its_rows_and_no_others(place: Place) {
    let records = place.open().await;
    four_denials(&records).await;
    let all = ViolationFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let endpoint = |endpoint| ViolationFilter { endpoint: Some(endpoint), ..all() };
    let cases: [(ViolationFilter, &[i64]); 12] = [
        (all(), &[4, 3, 2, 1, 0]),
        (ViolationFilter { user: text("alice"), ..all() }, &[2, 0]),
        (ViolationFilter { address: text("203.0.113.1"), ..all() }, &[1, 0]),
        (ViolationFilter { address: text("2001:db8::1"), ..all() }, &[2]),
        (ViolationFilter { rule: text("search"), ..all() }, &[4, 2, 1]),
        (endpoint(EndpointFilter::Exact("/api/search".to_owned())), &[1]),
        (endpoint(EndpointFilter::Prefix("/api/search".to_owned())), &[2, 1]),
        (endpoint(EndpointFilter::Prefix("/%".to_owned())), &[]),
        (ViolationFilter { since: Some(second(2)), ..all() }, &[4, 3, 2]),
        (ViolationFilter { until: Some(second(2)), ..all() }, &[1, 0]),
        (
            ViolationFilter { user: text("alice"), rule: text("search"), since: Some(second(1)), ..all() },
            &[2],
        ),
        (ViolationFilter { user: text("mallory"), ..all() }, &[]),
    ];
    for (filter, expected) in cases {
        let seconds: Vec<i64> = found(&records, &filter)
            .await
            .iter()
            .map(|row| row.requested_at.unix_seconds() - super::BEGIN_SECONDS)
            .collect();
        assert_eq!(seconds, expected, "{filter:?}");
    }
}

async fn pages_hold_every_row_once_whatever_is_stored_meanwhile(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in 0..25 {
        log.note(denial("login", &format!("user:{key}"), second(key)));
    }
    log.flush().await.unwrap();
    let (mut keys, mut cursor, mut pages) = (Vec::new(), None, Vec::new());
    loop {
        let page = records.violations(&ViolationFilter::default(), cursor, 10).await.unwrap();
        pages.push(page.violations.len());
        keys.extend(page.violations.into_iter().map(|row| row.bucket_key));
        let Some(next) = page.next else { break };
        cursor = Some(ViolationCursor::parse(&next.to_string()).unwrap());
        log.note(denial("login", &format!("new:{}", keys.len()), second(1_000)));
        log.flush().await.unwrap();
    }
    assert_eq!(pages, [10, 10, 5]);
    assert_eq!(keys, (0..25).rev().map(|key| format!("user:{key}")).collect::<Vec<_>>());
}

async fn rows_of_one_moment_are_told_apart_by_a_cursor(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in 0..20 {
        log.note(denial("login", &format!("user:{key}"), second(0)));
    }
    log.flush().await.unwrap();
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let page = records.violations(&ViolationFilter::default(), cursor, 3).await.unwrap();
        ids.extend(page.violations.into_iter().map(|row| row.violation_id.unwrap()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let sorted = ids.is_sorted_by(|earlier, later| earlier > later);
    assert!(ids.len() == 20 && sorted, "{ids:?}");
}

async fn nobody_is_given_more_than_a_page(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in 0..=PAGE_MAX {
        log.note(denial("login", &format!("user:{key}"), second(0)));
    }
    log.flush().await.unwrap();
    let page = records.violations(&ViolationFilter::default(), None, usize::MAX).await.unwrap();
    assert_eq!(page.violations.len(), PAGE_MAX);
    assert_eq!(rows(&records).await.len(), PAGE_MAX + 1);
}
