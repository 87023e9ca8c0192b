//! The transcripts of `docs/redis-script.md`, replayed.

use tollgate_redis::{KeySpace, Reply, RuleIdentity, Script};

use crate::asking::on_every_server;

const CONTRACT: &str = include_str!("../../../../docs/redis-script.md");

fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Integer(number) => number.to_string(),
        Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Reply::List(list) => list.iter().map(shown).collect::<Vec<_>>().join(" "),
        Reply::Nothing => "(nil)".to_owned(),
        Reply::Error(error) => error.clone(),
    }
}

#[test]
fn the_contract_answers_as_it_is_written() {
    on_every_server(|engine, _, connection| {
        let text = Script::decide().text();
        assert_eq!(shown(&connection.ask(&["SCRIPT", "LOAD", text])), Script::decide().sha());
        let mut asked = 0;
        let mut lines = CONTRACT.lines();
        while let Some(line) = lines.next() {
            let Some(typed) = line.strip_prefix("> ") else { continue };
            let reply = connection.typed(&typed.replace("$SHA", Script::decide().sha()));
            assert_eq!(Some(shown(&reply).as_str()), lines.next(), "{engine:?}: {typed}");
            asked += 1;
        }
        assert_eq!(asked, 4);
    });
}

#[test]
fn the_names_that_the_contract_shows_are_those_of_a_policys_rules() {
    for (rule, key) in [("user", &b"\x01\x0e\x00\x0242"[..]), ("login", b"\x01\x02\x00\x05\xc0\x00\x02\x07 ")]
    {
        let rule = RuleIdentity::new("default", rule);
        let name = KeySpace::default().bucket(&rule, key).unwrap();
        assert!(CONTRACT.contains(&format!("`{}`", name.as_bytes().escape_ascii())), "{name:?}");
    }
    assert!(CONTRACT.contains(&format!("`{}`", RuleIdentity::new("default", "user").digest())));
}
