//! Operations on buckets: every instance hears of each, once and in order.

use tollgate_records::{NewOperation, OperationKind, RecordsError};

use crate::alice;
use crate::databases::Place;

on_both!(
    an_operation_is_read_by_every_instance,
    whoever_follows_misses_none_while_several_are_told_at_once,
    an_operation_that_cannot_be_is_refused,
    a_grant_of_nothing_by_hand_stops_none_behind_it,
);

fn reset(key: &str) -> NewOperation {
    NewOperation {
        kind: OperationKind::Reset,
        rule: "login".to_owned(),
        key: key.to_owned(),
        reason: "asked".to_owned(),
        before: None,
        after: None,
    }
}

fn grant(amount: &str) -> NewOperation {
    NewOperation { kind: OperationKind::Grant { amount: amount.to_owned() }, ..reset("user:42") }
}

async fn an_operation_is_read_by_every_instance(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    assert_eq!(other.latest_operation().await.unwrap(), 0);
    let first = one.note_operation(&reset("user:42"), &alice()).await.unwrap();
    let second = one.note_operation(&grant("2.50"), &alice()).await.unwrap();
    let heard = other.operations_since(0).await.unwrap();
    assert_eq!(heard.iter().map(|operation| operation.operation_id).collect::<Vec<_>>(), [first, second]);
    assert_eq!(
        (heard[0].rule.as_str(), heard[0].key.as_str(), &heard[0].kind),
        ("login", "user:42", &OperationKind::Reset)
    );
    assert_eq!(heard[1].kind, OperationKind::Grant { amount: "2.5".to_owned() });
    assert_eq!((heard[1].author.as_str(), heard[1].reason.as_str()), ("alice", "asked"));
    assert_eq!(other.operations_since(first).await.unwrap(), heard[1..]);
    assert_eq!(other.latest_operation().await.unwrap(), second);
}

async fn whoever_follows_misses_none_while_several_are_told_at_once(place: Place) {
    const EACH: usize = 15;
    let mut tellers = Vec::new();
    for teller in 0..4 {
        let records = place.open().await;
        tellers.push(tokio::spawn(async move {
            for number in 0..EACH {
                records.note_operation(&reset(&format!("{teller}.{number}")), &alice()).await.unwrap();
            }
        }));
    }
    let follower = place.open().await;
    let (mut heard, mut last) = (Vec::new(), 0);
    while heard.len() < 4 * EACH {
        let news = follower.operations_since(last).await.unwrap();
        assert!(
            !news.is_empty()
                || !tellers.iter().all(tokio::task::JoinHandle::is_finished)
                || follower.latest_operation().await.unwrap() > last,
            "heard {} of {}",
            heard.len(),
            4 * EACH
        );
        last = news.last().map_or(last, |operation| operation.operation_id);
        heard.extend(news.into_iter().map(|operation| operation.key));
    }
    heard.sort_unstable();
    heard.dedup();
    assert_eq!(heard.len(), 4 * EACH);
}

async fn an_operation_that_cannot_be_is_refused(place: Place) {
    let records = place.open().await;
    for (new, field) in [
        (grant("0"), "amount"),
        (grant("-1"), "amount"),
        (grant("lots"), "amount"),
        (NewOperation { rule: String::new(), ..reset("x") }, "rule"),
        (reset(""), "key"),
        (NewOperation { reason: "x".repeat(1_025), ..reset("x") }, "reason"),
    ] {
        match records.note_operation(&new, &alice()).await {
            Err(RecordsError::Invalid { field: told, .. }) => assert_eq!(told, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    assert_eq!(records.operations_since(0).await.unwrap(), []);
}

async fn a_grant_of_nothing_by_hand_stops_none_behind_it(place: Place) {
    let records = place.open().await;
    let by_hand = "INSERT INTO tollgate_operations (kind, rule, key, author, reason) VALUES ('grant', 'login', '42', 'bob', 'x')";
    place.sql(by_hand).await.unwrap();
    let behind = records.note_operation(&reset("user:42"), &alice()).await.unwrap();
    let heard = records.operations_since(0).await.unwrap();
    assert_eq!(heard[0].kind, OperationKind::Grant { amount: String::new() });
    assert_eq!((heard[1].operation_id, &heard[1].kind), (behind, &OperationKind::Reset));
}
