//! Users, passwords and TLS: who is let in, and what the others are told.

use tollgate_redis::{DialError, Link, LinkError, LinkOptions, Script, ServerError, StoreUrl};

use crate::asking::{PATIENCE, check, left, open};
use crate::fleet::{Certificates, RedisServer, free_port};

fn cause(error: &LinkError) -> &DialError {
    match error {
        LinkError::NotConnected(cause) => cause,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_right_password_opens_and_a_wrong_one_or_none_says_so_without_showing_it() {
    needs_redis!();
    let server = RedisServer::start_locked("--requirepass s/sam:e", ":s%2Fsam:e@").await;
    let at = format!("127.0.0.1:{}", server.port);
    assert_eq!(left(&open(&format!("redis://:s%2Fsam:e@{at}")), "ann").await, 999);
    for url in [format!("redis://:mellon@{at}"), format!("redis://ann:mellon@{at}"), format!("redis://{at}")]
    {
        let refused = check(&open(&url), "ann", PATIENCE).await.unwrap_err();
        let is_refused =
            matches!(cause(&refused), DialError::Refused { error: ServerError::NotAllowed(_), .. });
        assert!(is_refused, "{url}: {refused:?}");
        assert!(!format!("{refused} {refused:?}").contains("mellon"));
    }
}

#[tokio::test]
async fn a_user_needs_no_more_rights_than_the_message_names() {
    needs_redis!();
    let server = RedisServer::start("").await;
    server
        .tell("ACL SETUSER ledger on >sesame ~tg:* +evalsha +eval +time +get +mget +exists +set +del")
        .await;
    let url = format!("redis://ledger:sesame@127.0.0.1:{}", server.port);
    let link = open(&url);
    assert_eq!(left(&link, "ann").await, 999);
    server.tell("ACL SETUSER ledger resetkeys ~other:*").await;
    let refused = check(&link, "ann", PATIENCE).await.unwrap_err();
    assert!(matches!(refused, LinkError::Server(ServerError::NotAllowed(_))), "{refused}");
    assert!(refused.to_string().contains("give a user that may run EVALSHA"), "{refused}");
}

/// The commands by which scripts and link do their work, each with words that fit it.
#[tokio::test]
async fn the_rights_that_the_guide_names_are_those_that_are_used() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let guide = include_str!("../../../../docs/distributed.md");
    let rights = guide.lines().find(|line| line.starts_with("ACL SETUSER tollgate ")).unwrap();
    server.tell(rights).await;
    let link = open(&format!("redis://tollgate:password@127.0.0.1:{}", server.port));
    assert_eq!(left(&link, "ann").await, 999);
    let survey = link.survey(PATIENCE).await.unwrap();
    assert_eq!(survey.findings, [], "all could be seen");
    for script in [Script::decide(), Script::declare(), Script::census()] {
        for command in script.text().split("call('").skip(1).filter_map(|rest| rest.split('\'').next()) {
            let right = format!(" +{}", command.to_lowercase());
            assert!(format!("{rights} ").contains(&format!("{right} ")), "{} needs{right}", script.name());
        }
    }
}

#[tokio::test]
async fn tls_trusts_whom_it_is_told_to_and_nobody_else() {
    needs_redis!();
    let folder = std::env::temp_dir().join(format!("tollgate-tls-{}", std::process::id()));
    let (ours, theirs) =
        (Certificates::write(&folder.join("ours")), Certificates::write(&folder.join("theirs")));
    let port = free_port();
    let _server = RedisServer::start(&ours.settings(port, false)).await;
    let at = format!("rediss://127.0.0.1:{port}");
    assert_eq!(left(&open(&format!("{at}?ca={}", ours.file("ca.pem"))), "ann").await, 999);
    let by_name = format!("rediss://localhost:{port}?ca={}", ours.file("ca.pem"));
    assert_eq!(left(&open(&by_name), "ann").await, 998);
    assert_eq!(left(&open(&format!("{at}?insecure=true")), "ann").await, 997);
    let stranger = open(&format!("{at}?ca={}", theirs.file("ca.pem")));
    let refused = check(&stranger, "ann", PATIENCE).await.unwrap_err();
    assert!(matches!(cause(&refused), DialError::Tls { .. }), "{refused:?}");
    assert!(refused.to_string().contains("name whom to trust with ?ca=FILE"), "{refused}");
    let plain = check(&open(&format!("redis://127.0.0.1:{port}")), "ann", PATIENCE).await.unwrap_err();
    assert!(plain.to_string().contains("rediss://"), "{plain}");
    let _ = std::fs::remove_dir_all(folder);
}

#[tokio::test]
async fn a_server_that_wants_to_know_who_we_are_is_shown_a_certificate() {
    needs_redis!();
    let folder = std::env::temp_dir().join(format!("tollgate-mtls-{}", std::process::id()));
    let ours = Certificates::write(&folder);
    let port = free_port();
    let _server = RedisServer::start(&ours.settings(port, true)).await;
    let with_ca = format!("rediss://127.0.0.1:{port}?ca={}", ours.file("ca.pem"));
    let known = format!("{with_ca}&cert={}&key={}", ours.file("cert.pem"), ours.file("key.pem"));
    assert_eq!(left(&open(&known), "ann").await, 999);
    let unknown = check(&open(&with_ca), "ann", PATIENCE).await.unwrap_err();
    assert!(matches!(cause(&unknown), DialError::Tls { .. }), "{unknown}");
    assert!(unknown.to_string().contains("?cert=FILE&key=FILE"), "{unknown}");
    let _ = std::fs::remove_dir_all(folder);
}

#[tokio::test]
async fn files_of_tls_that_cannot_be_read_are_named_at_once() {
    for (url, words) in [
        ("rediss://h?ca=/nowhere/ca.pem", ["`ca` is /nowhere/ca.pem", "name a readable PEM file"]),
        ("rediss://h?ca=/dev/null", ["`ca` is /dev/null", "there is no certificate in it"]),
        (
            "rediss://h?insecure=true&cert=/nowhere/c&key=/nowhere/k",
            ["`cert` is /nowhere/c", "name a readable PEM file"],
        ),
    ] {
        let refused =
            Link::open(&StoreUrl::parse(url).unwrap(), &LinkOptions::default()).unwrap_err().to_string();
        assert!(words.iter().all(|word| refused.contains(word)), "{refused}");
    }
}
