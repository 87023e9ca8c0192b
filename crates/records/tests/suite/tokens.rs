//! Tokens of the admin door.

use tollgate_records::{AuditFilter, NewToken, RecordsError, Role, Timestamp, TokenCheck};

use crate::alice;
use crate::databases::{Hand, Place};

on_both!(
    a_token_is_good_on_every_instance_until_it_is_revoked,
    a_token_is_good_until_its_expiry,
    what_is_almost_a_token_is_none,
    hashes_know_the_right_secret_of_a_valid_token,
    the_secret_is_kept_nowhere,
    the_last_use_of_a_token_is_known,
    tokens_that_ended_make_room_and_others_do_not,
    no_token_signs_as_changes_by_hand_do,
    no_token_signs_as_another_that_stands,
);

fn token(role: Role) -> NewToken {
    NewToken { name: "deploy".to_owned(), role, expires_at: None }
}

async fn a_token_is_good_on_every_instance_until_it_is_revoked(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    for role in Role::ALL {
        let (secret, record) = one.create_token(&token(role), &alice()).await.unwrap();
        assert!(secret.reveal().starts_with(&format!("tg_{}_", record.token_id)));
        let TokenCheck::Good(found) = other.check_token(secret.reveal()).await.unwrap() else {
            panic!("not good")
        };
        assert_eq!((found.role, found.name.as_str(), &found.token_id), (role, "deploy", &record.token_id));
        other.revoke_token(&record.token_id, &alice(), None).await.unwrap();
        assert!(matches!(one.check_token(secret.reveal()).await.unwrap(), TokenCheck::Revoked(_)));
    }
    let listed = one.tokens().await.unwrap();
    assert_eq!(listed.iter().map(|token| token.role).collect::<Vec<_>>(), Role::ALL);
    assert!(listed.iter().all(|token| token.revoked_at.is_some()));
    let nobody = one.revoke_token("' OR '1'='1", &alice(), None).await;
    assert_eq!(nobody, Err(RecordsError::NotFound { what: "token \"\\' OR \\'1\\'=\\'1\"".to_owned() }));
}

async fn a_token_is_good_until_its_expiry(place: Place) {
    let records = place.open().await;
    let soon = Timestamp::from_unix_seconds(Timestamp::now().unix_seconds() + 3_600);
    let (secret, record) = records
        .create_token(&NewToken { expires_at: Some(soon), ..token(Role::Admin) }, &alice())
        .await
        .unwrap();
    assert_eq!(record.expires_at, Some(soon));
    assert!(matches!(records.check_token(secret.reveal()).await.unwrap(), TokenCheck::Good(_)));
    place.sql("UPDATE tollgate_tokens SET expires_at = '2026-01-01T00:00:00Z'").await.unwrap();
    assert!(matches!(records.check_token(secret.reveal()).await.unwrap(), TokenCheck::Expired(_)));
    let over = NewToken { expires_at: Some(Timestamp::from_unix_seconds(0)), ..token(Role::Admin) };
    assert!(matches!(
        records.create_token(&over, &alice()).await,
        Err(RecordsError::Invalid { field: "expires_at", .. })
    ));
}

async fn hashes_know_the_right_secret_of_a_valid_token(place: Place) {
    let records = place.open().await;
    assert!(records.token_hashes().await.unwrap().is_empty());
    let (secret, record) = records.create_token(&token(Role::Viewer), &alice()).await.unwrap();
    let (text, now) = (secret.reveal(), Timestamp::now());
    let hashes = records.token_hashes().await.unwrap();
    assert!(hashes.is_right(text, now) && hashes.is_valid(&record.token_id, now));
    let wrong = format!("tg_{}_A", record.token_id);
    for other in ["", "x", &text[..text.len() - 1], &format!("{text}A"), &wrong, "tg_0123456789abcdef_A"] {
        assert!(!hashes.is_right(other, now), "{other}");
    }
    assert!(!format!("{hashes:?}").contains(&record.token_id));
    records.revoke_token(&record.token_id, &alice(), None).await.unwrap();
    let hashes = records.token_hashes().await.unwrap();
    assert!(hashes.contains(&record.token_id) && !hashes.is_right(text, now));
}

async fn what_is_almost_a_token_is_none(place: Place) {
    let records = place.open().await;
    let (secret, record) = records.create_token(&token(Role::Admin), &alice()).await.unwrap();
    let another = NewToken { name: "another".to_owned(), ..token(Role::Viewer) };
    let (other, _) = records.create_token(&another, &alice()).await.unwrap();
    let text = secret.reveal();
    let wrong = |id: &str, rest: &str| format!("tg_{id}_{rest}");
    let rest = &text[text.len() - 43..];
    for presented in [
        text[..text.len() - 1].to_owned(),
        format!("{text}A"),
        text.to_uppercase(),
        format!(" {text}"),
        wrong(other.token_id(), rest),
        wrong("0000000000000000", rest),
        wrong(&record.token_id, ""),
        wrong("' OR 1=1 --", rest),
        record.token_id.clone(),
        String::new(),
        "x".repeat(100_000),
        "tg_\0_\0".to_owned(),
    ] {
        assert_eq!(records.check_token(&presented).await.unwrap(), TokenCheck::Unknown, "{presented:.60}");
    }
}

async fn the_secret_is_kept_nowhere(place: Place) {
    let records = place.open().await;
    let (secret, record) = records.create_token(&token(Role::Admin), &alice()).await.unwrap();
    let hidden = secret.reveal().rsplit_once(&record.token_id).unwrap().1;
    let told = format!(
        "{secret:?} {record:?} {:?} {:?}",
        records.tokens().await.unwrap(),
        records.audit(&AuditFilter::default(), None, 10).await.unwrap()
    );
    assert!(told.contains(&record.token_id) && !told.contains(hidden));
    let mut hand = place.hand().await;
    assert_eq!(hand.number("SELECT COUNT(*) FROM tollgate_tokens WHERE length(hash) = 32").await, 1);
    // Who reads the table learns what cannot be presented.
    let hash = if matches!(hand, Hand::Sqlite(_)) { "hex(hash)" } else { "encode(hash, 'hex')" };
    let same = format!(
        "SELECT COUNT(*) FROM tollgate_tokens WHERE {hash} LIKE '%{}%' OR name LIKE '%{}%'",
        &hidden[1..],
        &hidden[1..]
    );
    assert_eq!(hand.number(&same).await, 0);
}

async fn the_last_use_of_a_token_is_known(place: Place) {
    let records = place.open().await;
    let (secret, record) = records.create_token(&token(Role::Viewer), &alice()).await.unwrap();
    assert_eq!(record.last_used_at, None);
    records.check_token(secret.reveal()).await.unwrap();
    let first = records.tokens().await.unwrap()[0].last_used_at.unwrap();
    assert!(first >= record.created_at);
    // Once a minute is enough.
    records.check_token(secret.reveal()).await.unwrap();
    assert_eq!(records.tokens().await.unwrap()[0].last_used_at, Some(first));
}

async fn tokens_that_ended_make_room_and_others_do_not(place: Place) {
    let records = place.open().await;
    let mut hand = place.hand().await;
    let hash =
        if matches!(hand, Hand::Sqlite(_)) { "zeroblob(32)" } else { "decode(repeat('00', 32), 'hex')" };
    let many = format!(
        "INSERT INTO tollgate_tokens (token_id, name, role, hash) WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL \
         SELECT n + 1 FROM numbers WHERE n < 1000) SELECT 'token ' || CAST(n AS TEXT), 'many', 'viewer', {hash} FROM numbers"
    );
    hand.sql(&many).await.unwrap();
    let refused = records.create_token(&token(Role::Viewer), &alice()).await.unwrap_err();
    assert_eq!(refused.to_string(), "`tokens` would be 1001, 1000 at most; end or remove some first");
    records.revoke_token("token 7", &alice(), None).await.unwrap();
    hand.sql("UPDATE tollgate_tokens SET expires_at = '2026-01-01T00:00:00Z' WHERE token_id = 'token 8'")
        .await
        .unwrap();
    records.create_token(&token(Role::Viewer), &alice()).await.unwrap();
    assert_eq!(records.tokens().await.unwrap().len(), 999);
}

async fn no_token_signs_as_changes_by_hand_do(place: Place) {
    let records = place.open().await;
    for (name, signs) in [
        ("sql", "changes by hand are signed with"),
        ("settings", "the token of the settings signs with"),
        ("local", "whoever comes without a token is called"),
    ] {
        let new = NewToken { name: name.to_owned(), ..token(Role::Admin) };
        let refused = records.create_token(&new, &alice()).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("`name` is `{name}`, which {signs}; choose another"));
    }
}

async fn no_token_signs_as_another_that_stands(place: Place) {
    let records = place.open().await;
    let (_, first) = records.create_token(&token(Role::Viewer), &alice()).await.unwrap();
    let id = &first.token_id;
    let refused = records.create_token(&token(Role::Admin), &alice()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "`name` is \"deploy\", and so is that of token {id}, which stands; choose another, or revoke that one first"
        )
    );
    records.revoke_token(id, &alice(), None).await.unwrap();
    records.create_token(&token(Role::Admin), &alice()).await.unwrap();
    place.sql("UPDATE tollgate_tokens SET expires_at = '2026-01-01T00:00:00Z'").await.unwrap();
    records.create_token(&token(Role::Admin), &alice()).await.unwrap();
}
