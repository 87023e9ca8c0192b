//! News: whoever watches hears of every change, whoever made it.

use tokio::sync::watch;
use tollgate_policy::Order;
use tollgate_records::{AuditFilter, NewOperation, NewOrder, OperationKind};

use crate::databases::{Place, SET_UP_MAX};
use crate::{alice, change, put};

on_both!(a_change_of_any_kind_is_news_for_every_instance, what_changes_nothing_is_no_news);

async fn hear(news: &mut watch::Receiver<u64>, what: &str) {
    let heard = tokio::time::timeout(SET_UP_MAX, news.changed()).await;
    assert!(heard.is_ok_and(|heard| heard.is_ok()), "no news: {what}");
    // What follows is news again.
    news.mark_unchanged();
}

/// Waits until nothing is news any more.
async fn settle(news: &mut watch::Receiver<u64>, place: &Place) {
    let revision = place.hand().await.number("SELECT revision FROM tollgate_revision").await;
    let known =
        tokio::time::timeout(SET_UP_MAX, news.wait_for(|known| *known == u64::try_from(revision).unwrap()))
            .await;
    assert!(known.is_ok_and(|known| known.is_ok()));
    news.mark_unchanged();
}

async fn a_change_of_any_kind_is_news_for_every_instance(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    let (mut here, mut there) = (one.news(), other.news());
    settle(&mut here, &place).await;
    settle(&mut there, &place).await;
    let kill =
        NewOrder { order: Order::KillSwitch { rule: None }, reason: "fire".to_owned(), expires_at: None };
    let reset = NewOperation {
        kind: OperationKind::Reset,
        rule: "r".to_owned(),
        key: "k".to_owned(),
        reason: "x".to_owned(),
        before: None,
        after: None,
    };
    for what in ["apply", "order", "revoke", "operation", "sql"] {
        match what {
            "apply" => drop(change(&one, &put("login", "one")).await),
            "order" => drop(one.give_order(&kill, &alice()).await.unwrap()),
            "revoke" => drop(one.revoke_order(1, &alice(), "out").await.unwrap()),
            "operation" => drop(one.note_operation(&reset, &alice()).await.unwrap()),
            _ => drop(place.sql("UPDATE tollgate_entries SET text = 'by hand'").await.unwrap()),
        }
        hear(&mut here, what).await;
        hear(&mut there, what).await;
        settle(&mut here, &place).await;
        settle(&mut there, &place).await;
    }
    assert_eq!(other.rule_set().await.unwrap().entries[0].text, "by hand");
}

async fn what_changes_nothing_is_no_news(place: Place) {
    let records = place.open().await;
    change(&records, &put("login", "one")).await;
    let mut hand = place.hand().await;
    let before = hand.number("SELECT revision FROM tollgate_revision").await;
    records.rule_set().await.unwrap();
    change(&records, &put("login", "one")).await;
    records.audit(&AuditFilter::default(), None, 5).await.unwrap();
    assert_eq!(hand.number("SELECT revision FROM tollgate_revision").await, before);
}
