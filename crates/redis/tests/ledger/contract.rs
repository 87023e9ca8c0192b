//! The transcripts of `docs/redis-script.md`, replayed.

use tollgate_redis::{KeySpace, Reply, RuleIdentity, Script};

use crate::asking::{integer, on_every_server};

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

/// What `m` was told, in the words of `c`: checks of two buckets.
fn spelled_out(packed: &[u8]) -> Vec<i64> {
    let (words, rest) = packed.as_chunks();
    assert!(rest.is_empty(), "numbers are eight bytes long");
    let mut numbers = words.iter().map(|word| i64::from_be_bytes(*word));
    let mut out = Vec::new();
    while let Some(status) = numbers.next() {
        let told = match status {
            5 => [numbers.next().unwrap(), 0, 0, numbers.next().unwrap(), 0, 0].to_vec(),
            9 => numbers.by_ref().take(1).collect(),
            _ => numbers.by_ref().take(6).collect(),
        };
        out.push(if status == 5 { 1 } else { status });
        out.extend(told);
    }
    out
}

fn numbers(reply: &Reply) -> Vec<i64> {
    let Reply::List(list) = reply else { panic!("{reply:?}") };
    list.iter().map(integer).collect()
}

/// Whichever way the script takes: with a peek in the call it is the long one.
#[test]
fn many_checks_in_one_item_are_told_and_charged_as_each_by_itself() {
    // Two buckets of four for each check; the fourth key is of another type.
    let checks: [[u16; 2]; 7] = [[1, 2], [3, 2], [1, 3], [3, 4], [2, 1], [2, 3], [3, 3]];
    let begin = "EVALSHA $SHA 4 tg:*:a tg:*:b tg:*:c tg:*:s 1";
    let limits = "4 2 e 7 3 5000000 e 1 1 3000000";
    let peek = " p 1 2 1 1 0";
    let text = Script::decide().sha();
    on_every_server(|engine, _, connection| {
        for (way, tail, is_strange) in [("short", "", false), ("long", peek, false), ("either", "", true)] {
            let checks = &checks[..if is_strange { 7 } else { 3 }];
            let prepare = |connection: &mut crate::support::Connection| {
                connection.typed("FLUSHALL");
                if is_strange {
                    connection.typed("SADD tg:*:s x");
                }
                let _ = connection.ask(&["SCRIPT", "LOAD", Script::decide().text()]);
                // Stamps that are ahead, as another server's clock left them.
                connection
                    .typed(&format!("{begin} 1790000000500000 {limits} c 1 2 2 1 0").replace("$SHA", text));
            };
            let held = |connection: &mut crate::support::Connection| {
                ["a", "b", "c"].map(|key| connection.typed(&format!("GET tg:*:{key}")))
            };
            prepare(connection);
            let each = checks.iter().map(|[a, b]| format!(" c 2 {a} 1 2000000 0 {b} 2 1000000 0"));
            let each = each.collect::<Vec<_>>().concat();
            let typed = format!("{begin} 1790000000000000 {limits}{each}{tail}").replace("$SHA", text);
            let expected = (numbers(&connection.typed(&typed)), held(connection));

            prepare(connection);
            let typed = format!("{begin} 1790000000000000 {limits} m 2 1 2000000 0 2 1000000 0")
                .replace("$SHA", text);
            let mut words: Vec<Vec<u8>> = typed.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            words.push(checks.as_flattened().iter().flat_map(|key| key.to_be_bytes()).collect());
            words.extend(tail.split_whitespace().map(|word| word.as_bytes().to_vec()));
            let Reply::List(mut list) = connection.ask(&words) else { panic!("no list") };
            let Reply::Bytes(packed) = list.remove(1) else { panic!("no string") };
            let mut told = vec![integer(&list[0])];
            told.extend(spelled_out(&packed));
            told.extend(list[1..].iter().map(integer));
            assert_eq!((told, held(connection)), expected, "{engine:?}, the {way} way");
        }
    });
}

#[test]
fn a_list_of_keys_that_is_none_is_refused_and_nothing_is_charged() {
    on_every_server(|engine, _, connection| {
        let _ = connection.ask(&["SCRIPT", "LOAD", Script::decide().text()]);
        let head = "EVALSHA $SHA 1 tg:*:a 1 0 1 1 e 7 3 5000000 m 1 1 1000000 0"
            .replace("$SHA", Script::decide().sha());
        for keys in [b"\0".to_vec(), b"\0\x01\0".to_vec(), b"\0\x02".to_vec(), vec![0; 2_050]] {
            let mut words: Vec<Vec<u8>> = head.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            words.push(keys);
            assert!(matches!(connection.ask(&words), Reply::Error(_)), "{engine:?}");
            assert_eq!(connection.typed("DBSIZE"), Reply::Integer(0), "{engine:?}");
        }
    });
}
