//! Texts that would like to be something else: SQL, lines, control bytes, markup.

use tollgate_records::{
    ENDPOINT_BYTES_MAX, EndpointFilter, KEY_BYTES_MAX, NAME_BYTES_MAX, RecordsError, USER_BYTES_MAX,
    Violation, ViolationFilter, WORD_BYTES_MAX,
};

use super::{denial, found, log, rows, second};
use crate::databases::Place;

on_both!(
    any_text_is_stored_as_it_is_and_found_by_itself_alone,
    a_nul_is_replaced_and_a_long_text_is_cut,
    a_filter_that_cannot_be_is_refused,
);

const NASTY: [&str; 14] = [
    "'",
    "\"",
    "'; DROP TABLE rate_limit_violations; --",
    "' OR '1'='1",
    "1) OR (1=1",
    "$1",
    "%",
    "_",
    "back\\slash",
    "two\r\nlines",
    "\u{1b}]0;title\u{7}\u{1b}[31m",
    "\u{1}\u{7f}\u{85}\u{2028}",
    "\u{202e}reversed",
    "<script>alert(1)</script>",
];

async fn any_text_is_stored_as_it_is_and_found_by_itself_alone(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for (at, text) in (0_i64..).zip(NASTY) {
        log.note(Violation {
            user: Some(text),
            endpoint: Some(text),
            reason: text,
            door: text,
            ..denial(text, text, second(at))
        });
    }
    log.flush().await.unwrap();
    let all = rows(&records).await;
    assert_eq!(all.len(), NASTY.len());
    for (row, text) in all.iter().rev().zip(NASTY) {
        let told = [
            &row.rule,
            &row.bucket_key,
            row.user.as_ref().unwrap(),
            row.endpoint.as_ref().unwrap(),
            &row.reason,
            &row.door,
        ];
        assert_eq!(told, [text; 6]);
    }
    let all = ViolationFilter::default;
    for text in NASTY {
        let owned = text.to_owned();
        for filter in [
            ViolationFilter { user: Some(owned.clone()), ..all() },
            ViolationFilter { rule: Some(owned.clone()), ..all() },
            ViolationFilter { endpoint: Some(EndpointFilter::Exact(owned.clone())), ..all() },
        ] {
            assert_eq!(found(&records, &filter).await.len(), 1, "{filter:?}");
        }
        let prefixed = NASTY.iter().filter(|nasty| nasty.starts_with(text)).count();
        let filter = ViolationFilter { endpoint: Some(EndpointFilter::Prefix(owned.clone())), ..all() };
        assert_eq!(found(&records, &filter).await.len(), prefixed, "{filter:?}");
        if text.len() <= 64 {
            let filter = ViolationFilter { address: Some(owned), ..all() };
            assert_eq!(found(&records, &filter).await.len(), 0, "{filter:?}");
        }
        assert_eq!(records.violation_totals(Some(text), None, None).await.unwrap().len(), 1);
    }
}

async fn a_nul_is_replaced_and_a_long_text_is_cut(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    log.note(Violation { user: Some("a\0b"), ..denial("rule\0", "key\0", second(0)) });
    let endless = "ö".repeat(5_000);
    let endless = endless.as_str();
    log.note(Violation {
        user: Some(endless),
        endpoint: Some(endless),
        reason: endless,
        door: endless,
        ..denial(endless, endless, second(1))
    });
    log.flush().await.unwrap();
    let rows = rows(&records).await;
    let told = [rows[1].user.as_deref().unwrap(), &rows[1].rule, &rows[1].bucket_key];
    assert_eq!(told, ["a\u{fffd}b", "rule\u{fffd}", "key\u{fffd}"]);
    for (text, bytes_max) in [
        (rows[0].user.as_ref().unwrap(), USER_BYTES_MAX),
        (rows[0].endpoint.as_ref().unwrap(), ENDPOINT_BYTES_MAX),
        (&rows[0].rule, NAME_BYTES_MAX),
        (&rows[0].bucket_key, KEY_BYTES_MAX),
        (&rows[0].reason, WORD_BYTES_MAX),
        (&rows[0].door, WORD_BYTES_MAX),
    ] {
        assert!(text.len() <= bytes_max && text.len() > bytes_max - 4 && text.ends_with('…'), "{text}");
    }
    assert_eq!(log.totals().stored, 2);
}

async fn a_filter_that_cannot_be_is_refused(place: Place) {
    let records = place.open().await;
    let long = "x".repeat(1_000);
    let all = ViolationFilter::default;
    for filter in [
        ViolationFilter { user: Some("a\0b".to_owned()), ..all() },
        ViolationFilter { address: Some(long.clone()), ..all() },
        ViolationFilter { rule: Some(String::new()), ..all() },
        ViolationFilter { endpoint: Some(EndpointFilter::Prefix(long)), ..all() },
    ] {
        let refused = records.violations(&filter, None, 10).await;
        assert!(matches!(refused, Err(RecordsError::Invalid { .. })), "{refused:?}");
    }
}
