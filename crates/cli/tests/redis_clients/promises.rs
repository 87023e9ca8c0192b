//! What every client library can rely on.

use serde_json::{Value, json};

use crate::client::{Client, Login, Refusal};
use crate::server::{PASSWORD, Server};

fn login(server: &Server, protocol: u8) -> Login<'static> {
    Login { port: server.port, protocol, password: None, name: None }
}

#[track_caller]
fn connect<C: Client>(server: &Server, protocol: u8) -> C {
    C::connect(login(server, protocol)).unwrap_or_else(|why| panic!("{why:?}"))
}

/// It connects in both protocols, with everything that the library says of itself, and its name is kept.
pub(crate) fn connects_in_both_protocols<C: Client>() {
    let server = Server::new();
    for protocol in [2, 3] {
        let mut client = C::connect(Login { name: Some("worker-7"), ..login(&server, protocol) })
            .unwrap_or_else(|why| panic!("{why:?}"));
        assert_eq!(client.ask(&["CLIENT", "GETNAME"]).unwrap(), "worker-7");
        assert_eq!(client.ask(&["ECHO", "hello"]).unwrap(), "hello");
        let said = client.ask(&["CLIENT", "INFO"]).unwrap().to_string();
        assert!(protocol == 2 || said.contains("resp=3") || said.contains(r#""resp":"3""#), "{said}");
    }
}

/// The five integers of redis-cell, as integers, until it is denied and when it never can be admitted.
pub(crate) fn throttles_until_denied<C: Client>() {
    let server = Server::new();
    for protocol in [2, 3] {
        let mut client: C = connect(&server, protocol);
        let key = format!("key-{protocol}");
        let mut throttle = |quantity| client.ask(&["CL.THROTTLE", &key, "2", "1", "3600", quantity]).unwrap();
        assert_eq!(throttle("1"), json!([0, 3, 2, -1, 3_600]));
        assert_eq!(throttle("2"), json!([0, 3, 0, -1, 10_800]));
        let denied = throttle("1");
        assert_eq!((&denied[0], &denied[1], &denied[2]), (&json!(1), &json!(3), &json!(0)));
        assert!((3_590..=3_600).contains(&denied[3].as_i64().unwrap()), "{denied}");
        assert_eq!(throttle("4")[3], -1, "never");
    }
}

/// Without the password and with a wrong one nobody gets in; with the right one everybody does.
pub(crate) fn a_password_is_asked_for<C: Client>() {
    let server = Server::with_password();
    for protocol in [2, 3] {
        let with =
            |password: Option<&'static str>| C::connect(Login { password, ..login(&server, protocol) });
        let mut client = with(Some(PASSWORD)).unwrap_or_else(|why| panic!("{why:?}"));
        assert_eq!(client.ask(&["CL.THROTTLE", "k", "9", "1", "60", "0"]).unwrap()[1], 10);
        // Some libraries stop at the first error when they connect, others at the first question.
        let said =
            |password: Option<&'static str>| match with(password).map(|mut client| client.ask(&["PING"])) {
                Err(Refusal::Reply(said) | Refusal::Failure(said))
                | Ok(Err(Refusal::Reply(said) | Refusal::Failure(said))) => said,
                Ok(Ok(reply)) => panic!("{reply}"),
            };
        let (wrong, missing) = (said(Some("wrong")), said(None));
        // Libraries have words of their own for these errors, or cut off the first word.
        let has = |said: &str, words: &[&str]| words.iter().any(|word| said.contains(word));
        assert!(
            has(&wrong, &["WRONGPASS", "invalid username-password pair", "Password authentication failed"]),
            "{wrong}"
        );
        assert!(has(&missing, &["NOAUTH", "Authentication required", "already authenticated"]), "{missing}");
    }
}

/// Thousands of requests before the first reply is read: every one is answered, in order, and the burst is admitted exactly.
pub(crate) fn pipelines_of_thousands_are_answered_in_order<C: Client>() {
    let server = Server::new();
    let mut client: C = connect(&server, 3);
    let mut requests: Vec<Vec<String>> = Vec::new();
    for number in 0..5_000 {
        let words = ["CL.THROTTLE", "pipelined", "2999", "1", "86400"];
        requests.push(words.map(str::to_owned).to_vec());
        if number % 500 == 0 {
            requests.push(vec!["ECHO".to_owned(), format!("echo {number}")]);
            requests.push(vec!["CL.THROTTLE".to_owned(), "wrong".to_owned()]);
        }
    }
    let replies = client.pipeline(&requests);
    assert_eq!(replies.len(), requests.len());
    let mut left = 3_000_i64;
    for (request, reply) in requests.iter().zip(replies) {
        match (request[0].as_str(), request.len()) {
            ("ECHO", _) => assert_eq!(reply.unwrap(), request[1].as_str()),
            (_, 2) => assert!(matches!(reply, Err(Refusal::Reply(_))), "{reply:?}"),
            _ => {
                let reply = reply.unwrap();
                assert_eq!(reply[0], i64::from(left == 0), "{reply}");
                left = (left - 1).max(0);
                assert_eq!(reply[2], left, "{reply}");
            }
        }
    }
}

/// The library's own transactions work as they do with redis-cell: each command is charged once, or none is if one was refused.
pub(crate) fn transactions_charge_each_command_once<C: Client>() {
    let server = Server::new();
    for protocol in [2, 3] {
        let mut client: C = connect(&server, protocol);
        let key = format!("key-{protocol}");
        let throttle = |count: &'static str| vec!["CL.THROTTLE", &key, "9", count, "3600"];
        let owned = |requests: &[Vec<&str>]| -> Vec<Vec<String>> {
            requests.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect()
        };
        let ip = format!("192.0.2.{protocol}");
        let check = vec!["TOLLGATE.CHECK", "ip", &ip];
        let requests = owned(&[throttle("1"), throttle("1"), check, vec!["ECHO", "hello"], throttle("1")]);
        let replies: Vec<Value> =
            client.transaction(&requests).unwrap().into_iter().map(Result::unwrap).collect();
        let left: Vec<&Value> = [0, 1, 4].iter().map(|at| &replies[*at][2]).collect();
        assert_eq!(left, [9, 8, 7], "{replies:?}");
        assert_eq!((&as_map(replies[2].clone())["remaining"], &replies[3]), (&json!(2), &json!("hello")));
        let refused = client.transaction(&owned(&[throttle("1"), throttle("one"), throttle("1")]));
        let Err(Refusal::Reply(said) | Refusal::Failure(said)) = refused else { panic!("{refused:?}") };
        assert!(
            said.contains("EXECABORT") || said.contains("discarded") || said.contains("integer"),
            "{said}"
        );
        let look = client.ask(&["CL.THROTTLE", &key, "9", "1", "3600", "0"]).unwrap();
        assert_eq!(look[2], 7, "a refused transaction charges nothing: {look}");
        assert_eq!(client.transaction(&owned(&[throttle("1")])).unwrap().len(), 1, "the connection lives on");
    }
}

/// An error reply is an error of the library, with its text, and the connection lives on.
pub(crate) fn an_error_reply_is_an_error<C: Client>() {
    let server = Server::new();
    let mut client: C = connect(&server, 2);
    for (words, part) in [
        (&["CL.THROTTLE", "k", "15", "thirty", "60"][..], "Couldn't parse as integer: thirty"),
        (&["TOLLGATE.CHECK", "pth", "/"], "`pth` is no field"),
        (&["TOLLGATE.CHECK", "ip", "home"], "use an address, as in 192.0.2.7"),
        (&["NOSUCH", "k"], "unknown command 'NOSUCH'"),
    ] {
        match client.ask(words) {
            Err(Refusal::Reply(said)) => assert!(said.contains(part), "{said}"),
            other => panic!("{words:?}: {other:?}"),
        }
    }
    assert_eq!(client.ask(&["ECHO", "still here"]).unwrap(), "still here");
}

/// The policy decides a described request: a map where the protocol has maps, else its names and values.
pub(crate) fn the_policy_decides_a_described_request<C: Client>() {
    let server = Server::new();
    for protocol in [2, 3] {
        let mut client: C = connect(&server, protocol);
        let ip = format!("192.0.2.{protocol}");
        let mut check = || {
            let told = client.ask(&[
                "TOLLGATE.CHECK",
                "ip",
                &ip,
                "method",
                "POST",
                "path",
                "/api?q=a b",
                "header:accept",
                "*/*",
            ]);
            as_map(told.unwrap())
        };
        for left in [2, 1, 0] {
            let told = check();
            assert_eq!((&told["admitted"], &told["status"]), (&json!(1), &json!(200)));
            assert_eq!(
                (&told["limit"], &told["remaining"], &told["rule"]),
                (&json!(3), &json!(left), &json!("client"))
            );
            assert_eq!((&told["reason"], &told["retry_after_ms"]), (&Value::Null, &Value::Null));
        }
        let told = check();
        assert_eq!(
            (&told["admitted"], &told["status"], &told["reason"]),
            (&json!(0), &json!(429), &json!("token_bucket_exceeded"))
        );
        assert!((1_190_000..=1_200_000).contains(&told["retry_after_ms"].as_u64().unwrap()), "{told}");
    }
}

/// Names and values, if it is not a map already.
fn as_map(told: Value) -> Value {
    match told {
        Value::Array(flat) => {
            flat.chunks(2).map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].clone())).collect()
        }
        map => map,
    }
}

/// What libraries and their users ask of a server before they use it.
pub(crate) fn the_server_tells_of_itself<C: Client>() {
    let server = Server::new();
    for protocol in [2, 3] {
        let mut client: C = connect(&server, protocol);
        assert_eq!(client.ask(&["COMMAND", "COUNT"]).unwrap(), 18);
        for asked in [&["COMMAND"][..], &["COMMAND", "DOCS"], &["COMMAND", "INFO", "tollgate.check"]] {
            let told = client.ask(asked).unwrap().to_string();
            assert!(told.contains("tollgate.check"), "{asked:?}: {told}");
        }
        let info = client.ask(&["INFO"]).unwrap().to_string();
        assert!(info.contains("redis_version") && info.contains("tollgate_version"), "{info}");
    }
}

/// `QUIT` is answered, and the next question opens another connection.
pub(crate) fn quit_ends_the_connection_alone<C: Client>() {
    let server = Server::new();
    let mut client: C = connect(&server, 2);
    assert!(["true", "\"OK\""].contains(&client.ask(&["QUIT"]).unwrap().to_string().as_str()));
    let mut other: C = connect(&server, 2);
    assert_eq!(other.ask(&["ECHO", "here"]).unwrap(), "here");
}

/// A server that was killed and started again is found again, without another client.
pub(crate) fn a_restart_is_survived<C: Client>() {
    let server = Server::new();
    let mut client: C = connect(&server, 3);
    let throttle = ["CL.THROTTLE", "k", "2", "1", "3600"];
    assert_eq!(client.ask(&throttle).unwrap()[2], 2);
    let _server = server.again();
    assert_eq!(client.ask(&throttle).unwrap()[2], 2, "buckets in memory are new");
    assert_eq!(client.ask(&throttle).unwrap()[2], 1);
}
