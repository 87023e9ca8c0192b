//! How clients are named in the log.

use tollgate_records::{
    IdentifierSecret, Identifiers, Records, Violation, ViolationFilter, ViolationLog, ViolationSettings,
};

use super::{denial, found, rows, second};
use crate::databases::Place;

on_both!(
    a_pseudonym_hides_who_it_is_and_is_found_by_whoever_has_the_secret,
    nobody_is_named_where_identifiers_are_off,
);

async fn one_denial(records: &Records, identifiers: Identifiers) -> ViolationLog {
    let mut settings = ViolationSettings::default();
    settings.identifiers = identifiers;
    let log = ViolationLog::new(Some(records.clone()), settings);
    let address = Some("203.0.113.7".parse().unwrap());
    log.note(Violation { user: Some("alice"), address, ..denial("login", "user:alice", second(0)) });
    log.flush().await.unwrap();
    log
}

async fn a_pseudonym_hides_who_it_is_and_is_found_by_whoever_has_the_secret(place: Place) {
    let records = place.open().await;
    let log = one_denial(&records, Identifiers::Hashed(IdentifierSecret::new(b"correct horse"))).await;
    let row = rows(&records).await.remove(0);
    let stored = format!("{row:?}");
    assert!(!stored.contains("alice") && !stored.contains("203.0.113.7"), "{stored}");
    assert!(row.user.as_ref().unwrap().starts_with("hashed:") && row.bucket_key.starts_with("hashed:"));
    for filter in [
        ViolationFilter { user: Some("alice".to_owned()), ..ViolationFilter::default() },
        ViolationFilter { address: Some("203.0.113.7".to_owned()), ..ViolationFilter::default() },
    ] {
        assert!(found(&records, &filter).await.is_empty(), "not by the plain name");
        assert_eq!(found(&records, &log.named(filter)).await.len(), 1);
    }
    for filter in [
        ViolationFilter { user: row.user, ..ViolationFilter::default() },
        ViolationFilter { address: row.address, ..ViolationFilter::default() },
    ] {
        assert_eq!(found(&records, &log.named(filter.clone())).await.len(), 1, "as it is listed: {filter:?}");
    }
}

async fn nobody_is_named_where_identifiers_are_off(place: Place) {
    let records = place.open().await;
    let log = one_denial(&records, Identifiers::Off).await;
    let row = rows(&records).await.remove(0);
    assert_eq!((row.user, row.address, row.bucket_key.as_str()), (None, None, ""));
    assert_eq!((row.rule.as_str(), log.totals().stored), ("login", 1));
    let filter = ViolationFilter { user: Some("alice".to_owned()), ..ViolationFilter::default() };
    assert!(found(&records, &log.named(filter)).await.is_empty());
}
