//! Denials that are noted: which become rows, and that all are counted.

use std::net::IpAddr;
use std::sync::Arc;

use tollgate_records::{
    MicroTokens, Violation, ViolationCounts, ViolationLog, ViolationSettings, ViolationTotals,
};

use super::{add_up, denial, filed_totals, log, rows, second};
use crate::databases::Place;

on_both!(
    the_first_of_each_second_are_rows_and_stand_for_the_others,
    every_field_is_stored_as_it_was_told,
    a_denial_may_be_told_only_if_it_is_stored,
    totals_are_kept_by_rule_and_hour,
    keys_of_different_rules_are_sampled_apart,
    all_keys_together_have_so_many_rows_a_second,
    what_was_noted_is_stored_before_the_log_closes,
    logs_of_several_instances_add_up,
    threads_that_note_at_once_lose_nothing,
);

async fn the_first_of_each_second_are_rows_and_stand_for_the_others(place: Place) {
    let records = place.open().await;
    let mut settings = ViolationSettings::default();
    settings.rows_per_key_per_second = 2;
    let log = ViolationLog::new(Some(records.clone()), settings);
    for (key, at, times) in [("user:1", 0, 10), ("user:2", 0, 1), ("user:1", 1, 5)] {
        for _ in 0..times {
            log.note(denial("login", key, second(at)));
        }
    }
    log.flush().await.unwrap();
    let mut told: Vec<_> = rows(&records)
        .await
        .into_iter()
        .map(|row| (row.requested_at, row.bucket_key, row.sampled_for))
        .collect();
    told.sort();
    let row = |at, key: &str, sampled_for| (second(at), key.to_owned(), sampled_for);
    let expected = [
        row(0, "user:1", 1),
        row(0, "user:1", 1),
        row(0, "user:2", 1),
        row(1, "user:1", 1),
        row(1, "user:1", 9),
    ];
    assert_eq!(told, expected);
    let counts = ViolationCounts { denied: 16, stored: 5, sampled_out: 11, dropped: 0, queued: 0 };
    assert_eq!(log.totals(), counts);
    assert_eq!(filed_totals(&records).await, counts);
}

async fn every_field_is_stored_as_it_was_told(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    let address: IpAddr = "2001:db8::7".parse().unwrap();
    log.note(Violation {
        user: Some("alice"),
        address: Some(address),
        endpoint: Some("/api/search"),
        tokens: MicroTokens(-1_250_000),
        cost: MicroTokens(2_500_001),
        reason: "cost_exceeds_burst",
        door: "grpc",
        ..denial("search", "user:alice", second(5))
    });
    log.flush().await.unwrap();
    let row = rows(&records).await.remove(0);
    assert!(row.violation_id.is_some_and(|id| id > 0));
    assert_eq!((row.rule.as_str(), row.bucket_key.as_str()), ("search", "user:alice"));
    assert_eq!((row.user.as_deref(), row.address.as_deref()), (Some("alice"), Some("2001:db8::7")));
    assert_eq!((row.endpoint.as_deref(), row.requested_at), (Some("/api/search"), second(5)));
    assert_eq!((row.tokens_at_time, row.cost), (MicroTokens(-1_250_000), MicroTokens(2_500_001)));
    assert_eq!((row.reason.as_str(), row.door.as_str(), row.sampled_for), ("cost_exceeds_burst", "grpc", 1));
    // As whoever writes SQL expects it.
    let mut hand = place.hand().await;
    let sql = "SELECT COUNT(*) FROM rate_limit_violations WHERE tokens_at_time = -1.25 AND cost = 2.500001 AND \
        user_id = 'alice' AND ip_address = '2001:db8::7' AND rule_id = 'search'";
    assert_eq!(hand.number(sql).await, 1);
}

async fn a_denial_may_be_told_only_if_it_is_stored(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    let mut told = 0;
    for _ in 0..10 {
        if let Some(sampled) = log.sample("login", 42, second(0)) {
            told += 1;
            sampled.store(&denial("login", "user:1", second(0)));
        }
    }
    drop(log.sample("login", 43, second(0)));
    log.flush().await.unwrap();
    let counts = ViolationCounts { denied: 11, stored: 3, sampled_out: 7, dropped: 1, queued: 0 };
    assert_eq!((told, log.totals()), (3, counts));
    assert_eq!(filed_totals(&records).await, counts);
}

async fn totals_are_kept_by_rule_and_hour(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    // The last second of an hour, and the first of the next.
    for (rule, at, times) in [("a", 3_599, 10), ("b", 3_599, 1), ("a", 3_600, 2)] {
        for _ in 0..times {
            log.note(denial(rule, "user:1", second(at)));
        }
    }
    log.flush().await.unwrap();
    let line = |rule: &str, hour: i64, denied, stored| ViolationTotals {
        rule: rule.to_owned(),
        hour: second(hour * 3_600),
        denied,
        stored,
        sampled_out: denied - stored,
        dropped: 0,
    };
    let expected = [line("a", 1, 2, 2), line("a", 0, 10, 3), line("b", 0, 1, 1)];
    assert_eq!(records.violation_totals(None, None, None).await.unwrap(), expected);
    assert_eq!(records.violation_totals(Some("b"), None, None).await.unwrap(), expected[2..]);
    assert_eq!(records.violation_totals(None, Some(second(3_600)), None).await.unwrap(), expected[..1]);
    assert_eq!(records.violation_totals(None, None, Some(second(3_600))).await.unwrap(), expected[1..]);
    log.note(denial("a", "user:1", second(3_601)));
    log.flush().await.unwrap();
    assert_eq!(
        records.violation_totals(Some("a"), None, None).await.unwrap()[0],
        line("a", 1, 3, 3),
        "added"
    );
}

async fn keys_of_different_rules_are_sampled_apart(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for rule in ["a", "b", "c"] {
        for _ in 0..10 {
            log.note(denial(rule, "user:1", second(0)));
        }
    }
    log.flush().await.unwrap();
    assert_eq!(rows(&records).await.len(), 9, "three of each");
}

async fn all_keys_together_have_so_many_rows_a_second(place: Place) {
    let records = place.open().await;
    let mut settings = ViolationSettings::default();
    settings.rows_per_second = 100;
    let log = ViolationLog::new(Some(records.clone()), settings);
    for at in 0..2 {
        for key in 0..1_000 {
            log.note(denial("login", &format!("user:{key}"), second(at)));
        }
    }
    log.flush().await.unwrap();
    let counts = ViolationCounts { denied: 2_000, stored: 200, sampled_out: 1_800, dropped: 0, queued: 0 };
    assert_eq!(log.totals(), counts);
    assert_eq!(rows(&records).await.len(), 200);
}

async fn what_was_noted_is_stored_before_the_log_closes(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in 0..1_000 {
        log.note(denial("login", &format!("user:{key}"), second(0)));
    }
    let counts = log.close().await;
    assert_eq!(counts, ViolationCounts { denied: 1_000, stored: 1_000, ..ViolationCounts::default() });
    log.note(denial("login", "late", second(9)));
    let counts = log.totals();
    assert_eq!((counts.denied, counts.dropped), (1_001, 1), "what comes too late is counted");
    assert_eq!(rows(&records).await.len(), 1_000);
    assert!(log.flush().await.is_ok(), "there is nothing to wait for");
}

async fn logs_of_several_instances_add_up(place: Place) {
    let (first, second_one) = (place.open().await, place.open().await);
    let logs = [log(&first), log(&second_one)];
    for round in 0..20 {
        for (number, log) in logs.iter().enumerate() {
            for rule in ["a", "b", "c", "d"] {
                log.note(denial(rule, &format!("user:{number}"), second(round)));
            }
        }
        let (one, other) = tokio::join!(logs[0].flush(), logs[1].flush());
        one.unwrap();
        other.unwrap();
    }
    let counts = filed_totals(&first).await;
    assert_eq!(counts, ViolationCounts { denied: 160, stored: 160, ..ViolationCounts::default() });
    assert_eq!(rows(&first).await.len(), 160);
}

async fn threads_that_note_at_once_lose_nothing(place: Place) {
    let records = place.open().await;
    let log = Arc::new(log(&records));
    let threads: Vec<_> = (0..4_i64)
        .map(|thread| {
            let log = Arc::clone(&log);
            tokio::task::spawn_blocking(move || {
                for step in 0..25_000_i64 {
                    let key = format!("user:{}", (step * 7 + thread) % 40);
                    log.note(denial(["a", "b"][usize::from(step % 3 == 0)], &key, second(step / 2_500)));
                    if step % 5_000 == 0 {
                        add_up(log.totals());
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.await.unwrap();
    }
    log.flush().await.unwrap();
    let counts = log.totals();
    add_up(counts);
    assert_eq!((counts.denied, counts.queued), (100_000, 0));
    assert_eq!(filed_totals(&records).await, counts);
    let rows = rows(&records).await;
    assert_eq!(rows.len() as u64, counts.stored);
    let told: u64 = rows.iter().map(|row| row.sampled_for).sum();
    assert!(told <= counts.denied, "{told} of {}: a row stands for no more than there were", counts.denied);
}
