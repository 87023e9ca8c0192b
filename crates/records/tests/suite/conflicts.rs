//! Several who change the rule set at the same time.

use tollgate_records::{ApplyError, Author, Timestamp};

use crate::databases::Place;
use crate::{change, fine, put};

on_both!(of_two_conflicting_changes_one_wins_and_the_other_is_told_by_whom, no_update_is_lost);

async fn of_two_conflicting_changes_one_wins_and_the_other_is_told_by_whom(place: Place) {
    let instances = [place.open().await, place.open().await];
    change(&instances[0], &put("login", "first")).await;
    let begun = Timestamp::now();
    let mut tries = Vec::new();
    for number in 0..8 {
        let records = instances[number % 2].clone();
        tries.push(tokio::spawn(async move {
            let author = Author::new(format!("author {number}"));
            records.apply(1, &put("login", &format!("by {number}")), &author, "mine", fine).await
        }));
    }
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    for task in tries {
        match task.await.unwrap() {
            Ok(version) => won.push(version),
            Err(error) => lost.push(error),
        }
    }
    let [winner] = &won[..] else { panic!("{} have won: {won:?}", won.len()) };
    assert_eq!((winner.version, lost.len()), (2, 7));
    for error in lost {
        let ApplyError::Conflict { base: 1, current: 2, by, at } = &error else { panic!("{error}") };
        assert_eq!((by, *at), (&winner.author, winner.created_at));
        assert!(*at >= begun && error.to_string().contains("look at what changed"), "{error}");
    }
    let number = winner.author.strip_prefix("author ").unwrap();
    let rules = instances[1].rule_set().await.unwrap();
    assert_eq!((rules.version, &rules.entries[0].text), (2, &format!("by {number}")));
}

async fn no_update_is_lost(place: Place) {
    const EACH: usize = 8;
    let mut tasks = Vec::new();
    for writer in 0..4 {
        let records = place.open().await;
        tasks.push(tokio::spawn(async move {
            for number in 0..EACH {
                loop {
                    let rules = records.rule_set().await.unwrap();
                    // Everybody appends to the same text: a lost update would be a missing word.
                    let text = rules.entries.first().map_or("", |entry| &entry.text);
                    let more = put("shared", &format!("{text} {writer}.{number}"));
                    match records.apply(rules.version, &more, &Author::new("writer"), "", fine).await {
                        Ok(_) => break,
                        Err(ApplyError::Conflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let rules = place.open().await.rule_set().await.unwrap();
    assert_eq!(usize::try_from(rules.version).unwrap(), 4 * EACH);
    assert_eq!(rules.entries[0].text.split_whitespace().count(), 4 * EACH);
}
