//! PostgreSQL that is not there, dies under load, hangs, and comes back: nobody hangs with it, and nothing is lost or done twice.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(unused_macros, dead_code, unused_imports, reason = "other tests use the rest")]
mod databases;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use databases::{Place, PostgresServer, SET_UP_MAX, SwallowingProxy, is_postgres_skipped, until};
use tollgate_records::{
    ApplyError, Author, Entry, NewOperation, OperationKind, Records, RecordsError, RecordsOptions,
    RecordsStatus, RecordsUrl, RuleSet, RuleSetChange,
};

#[expect(clippy::unnecessary_wraps, reason = "judges find mistakes")]
fn fine(_: &RuleSet) -> Result<(), String> {
    Ok(())
}

fn put(text: &str) -> RuleSetChange {
    RuleSetChange { put_entries: vec![Entry::new("login", text)], ..RuleSetChange::default() }
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_starts_later_is_found() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::prepare();
    let records =
        Records::open(&RecordsUrl::parse(&server.url("postgres")).unwrap(), RecordsOptions::default())
            .unwrap();
    until("it is told", || async { records.status().to_string().contains("refused") }).await;
    server.launch();
    records.ready_within(SET_UP_MAX).await.unwrap();
    assert_eq!(records.rule_set().await.unwrap().version, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_under_load_loses_nothing_that_was_acknowledged_and_is_found_again() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let records = place.open().await;
    let (is_over, noted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let load: Vec<_> = (0..4)
        .map(|task| {
            let (records, is_over, noted) = (records.clone(), Arc::clone(&is_over), Arc::clone(&noted));
            tokio::spawn(async move {
                let (mut acknowledged, mut failed) = (Vec::new(), 0);
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let key = format!("{task}.{number}");
                    match tokio::time::timeout(
                        SET_UP_MAX,
                        records.note_operation(&reset(&key), &Author::new("load")),
                    )
                    .await
                    .unwrap()
                    {
                        Ok(_) => {
                            noted.fetch_add(1, Ordering::Relaxed);
                            acknowledged.push(key);
                        }
                        Err(RecordsError::Unavailable { .. } | RecordsError::Unanswered { .. }) => {
                            failed += 1;
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                (acknowledged, failed)
            })
        })
        .collect();
    for _ in 0..3 {
        let before = noted.load(Ordering::Relaxed);
        until("work is done", || async { noted.load(Ordering::Relaxed) > before + 20 }).await;
        let mut news = records.news();
        news.mark_unchanged();
        server.kill();
        until("it is told", || async { matches!(records.status(), RecordsStatus::Failing { .. }) }).await;
        server.launch();
        records.ready_within(SET_UP_MAX).await.unwrap();
        // There is news in any case: whoever watches reads again.
        tokio::time::timeout(SET_UP_MAX, news.changed()).await.unwrap().unwrap();
    }
    let before = noted.load(Ordering::Relaxed);
    until("work is done again", || async { noted.load(Ordering::Relaxed) > before + 20 }).await;
    is_over.store(true, Ordering::Relaxed);
    let (mut acknowledged, mut failed) = (Vec::new(), 0);
    for task in load {
        let (some, others) = task.await.unwrap();
        acknowledged.extend(some);
        failed += others;
    }
    let mut stored = Vec::new();
    let mut last = 0;
    loop {
        let page = records.operations_since(last).await.unwrap();
        let Some(operation) = page.last() else { break };
        last = operation.operation_id;
        stored.extend(page.into_iter().map(|operation| operation.key));
    }
    let count = stored.len();
    stored.sort_unstable();
    stored.dedup();
    assert_eq!(stored.len(), count, "something was done twice");
    assert!(acknowledged.iter().all(|key| stored.binary_search(key).is_ok()));
    assert!(failed > 0, "the server was never missed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_made_during_an_outage_of_ours_are_read_after_it() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let records = place.open().await;
    records.apply(0, &put("one"), &Author::new("alice"), "", fine).await.unwrap();
    server.kill();
    until("it is told", || async { !records.status().is_ready() }).await;
    let away = records.apply(1, &put("two"), &Author::new("alice"), "", fine).await;
    assert!(matches!(away, Err(ApplyError::Records(RecordsError::Unavailable { .. }))), "{away:?}");
    server.restart().await;
    place.sql("UPDATE tollgate_entries SET text = 'by hand'").await.unwrap();
    records.ready_within(SET_UP_MAX).await.unwrap();
    until("the change is read", || async {
        records.rule_set().await.is_ok_and(|rules| rules.entries[0].text == "by hand" && rules.version == 2)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_makes_nobody_wait_for_ever() {
    if is_postgres_skipped() {
        return;
    }
    let server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let mut options = RecordsOptions::default();
    options.answer_max = Duration::from_millis(300);
    let records = place.open_with(options).await;
    records.apply(0, &put("one"), &Author::new("alice"), "", fine).await.unwrap();
    server.signal_all("STOP");
    let hung = tokio::time::timeout(SET_UP_MAX, records.rule_set()).await.unwrap().unwrap_err();
    assert!(matches!(hung, RecordsError::Unanswered { .. } | RecordsError::Unavailable { .. }), "{hung}");
    until("it is told", || async { !records.status().is_ready() }).await;
    server.signal_all("CONT");
    records.ready_within(SET_UP_MAX).await.unwrap();
    until("it answers again", || async { records.rule_set().await.is_ok_and(|rules| rules.version == 1) })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_a_network_swallowed_are_not_waited_for_once_it_carries_again() {
    if is_postgres_skipped() {
        return;
    }
    let server = PostgresServer::shared().await;
    let proxy = SwallowingProxy::before(server.port).await;
    let place = Place::behind(server, proxy.port).await;
    let mut options = RecordsOptions::default();
    options.answer_max = Duration::from_millis(500);
    let records = place.open_with(options).await;
    records.apply(0, &put("one"), &Author::new("alice"), "", fine).await.unwrap();
    proxy.turn();
    // As many as there are connections: each is lost with what it asked.
    let lost: Vec<_> = (0..8)
        .map(|_| {
            let records = records.clone();
            tokio::spawn(async move { records.rule_set().await })
        })
        .collect();
    for asked in lost {
        let asked = tokio::time::timeout(SET_UP_MAX, asked).await.unwrap().unwrap().unwrap_err();
        assert!(
            matches!(asked, RecordsError::Unanswered { .. } | RecordsError::Unavailable { .. }),
            "{asked}"
        );
    }
    until("it is told", || async { !records.status().is_ready() }).await;
    proxy.turn();
    records.ready_within(SET_UP_MAX).await.unwrap();
    until("it answers again", || async {
        let rules = records.rule_set().await;
        rules.is_ok_and(|rules| (rules.version, rules.entries[0].text.as_str()) == (1, "one"))
    })
    .await;
    until("it can be changed again", || async {
        let done = records.apply(1, &put("two"), &Author::new("alice"), "", fine).await;
        // What was not answered in time may have been done all the same.
        done.is_ok() || matches!(done, Err(ApplyError::Conflict { current: 2, .. }))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_somebody_locked_is_told_and_not_waited_for() {
    let Some(place) = Place::postgres().await else { return };
    let mut options = RecordsOptions::default();
    options.busy_max = Duration::from_millis(50);
    let records = place.open_with(options).await;
    let mut hand = place.hand().await;
    hand.sql("BEGIN; UPDATE tollgate_revision SET revision = revision + 1").await.unwrap();
    let locked = records.apply(0, &put("one"), &Author::new("alice"), "", fine).await;
    assert_eq!(locked, Err(ApplyError::Records(RecordsError::Locked { waited: Duration::from_millis(50) })));
    hand.sql("ROLLBACK").await.unwrap();
    records.apply(0, &put("one"), &Author::new("alice"), "", fine).await.unwrap();
}
