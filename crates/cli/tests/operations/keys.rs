//! `tollgate keys`.

use serde_json::json;

use crate::desk::{Desk, POLICY};

#[test]
fn a_bucket_is_looked_at_given_tokens_and_filled() {
    let desk = Desk::new(POLICY);
    assert_eq!(desk.checks(5, "42"), 3);
    let shown = desk.good(&["keys", "get", "api", "user:42"]);
    assert!(shown.starts_with("user:42 under api\n") && shown.contains("next admit  in "), "{shown}");
    let never = desk.good(&["keys", "get", "api", "user:42", "--cost", "99"]);
    assert!(never.contains("next admit  never"), "{never}");

    desk.good(&["keys", "grant", "api", "user:42", "2", "--reason", "our fault"]);
    assert_eq!(desk.checks(5, "42"), 2);
    let json = desk.json(&["keys", "reset", "api", "user:42", "--reason", "our fault"]);
    assert_eq!((&json["done"], &json["buckets"][0]["balance"]), (&true.into(), &3.into()), "{json}");
    assert_eq!(desk.checks(5, "42"), 3);
}

#[test]
fn who_is_blocked_is_denied_until_unblocked() {
    let desk = Desk::new(POLICY);
    let given = desk.good(&["keys", "block", "192.0.2.0/24", "--reason", "scraper", "--for", "2h"]);
    assert!(
        given.contains("block") && given.contains("network:192.0.2.0/24") && given.contains("scraper"),
        "{given}"
    );
    desk.wait_until("the network is blocked", || !desk.check("1"));
    desk.good(&["keys", "unblock", "192.0.2.0/24", "--reason", "gone"]);
    desk.wait_until("the network is not blocked", || desk.check("2"));
    let complaint = desk.complaint(&["keys", "unblock", "192.0.2.0/24", "--reason", "gone"], 1);
    assert_eq!(
        complaint,
        "error: no block of 192.0.2.0/24 stands; `tollgate keys orders` lists those that do\n"
    );

    desk.good(&["keys", "block", "ip:192.0.2.7", "--reason", "x", "--until", "2036-11-20T10:00Z"]);
    desk.good(&["keys", "block", "user:42", "--rule", "api", "--reason", "x"]);
    let orders = desk.good(&["keys", "orders"]);
    assert!(orders.contains("until released"), "{orders}");
    let listed = desk.good(&["rules", "list"]);
    let block = listed.lines().find(|line| line.starts_with("order-2 ")).unwrap();
    assert!(block.ends_with("-       -              -"), "orders are counted together: {listed}");
    assert!(orders.contains("ip:192.0.2.7") && orders.contains("2036-11-20T10:00:00Z"), "{orders}");
    desk.good(&["keys", "unblock", "address:192.0.2.7", "--reason", "x"]);
    desk.good(&["keys", "unblock", "user:42", "--rule", "api", "--reason", "x"]);
    assert_eq!(desk.good(&["keys", "orders"]), "No order stands.\n");
}

#[test]
fn whoever_is_blocked_is_unblocked_by_any_spelling() {
    let desk = Desk::new(POLICY);
    for (blocked, unblocked) in [
        ("::ffff:198.51.100.6", "198.51.100.6"),
        ("198.51.100.6", "ip:::FFFF:198.51.100.6"),
        ("198.51.100.8/32", "198.51.100.8"),
        ("198.51.100.8", "198.51.100.8/32"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("2001:db8:0::/48", "network:2001:db8::/48"),
        ("::ffff:198.51.100.0/120", "198.51.100.0/24"),
    ] {
        desk.good(&["keys", "block", blocked, "--reason", "x"]);
        for other in ["198.51.100.9", "198.51.100.0/25", "2001:db8::/47", "user:198.51.100.6"] {
            desk.complaint(&["keys", "unblock", other, "--reason", "x"], 1);
        }
        desk.good(&["keys", "unblock", unblocked, "--reason", "x"]);
        assert_eq!(desk.good(&["keys", "orders"]), "No order stands.\n", "{blocked}");
    }
}

#[test]
fn who_is_allowed_is_admitted_whatever_the_bucket_holds() {
    let desk = Desk::new(POLICY);
    desk.good(&["keys", "allow", "user:42", "--reason", "partner"]);
    desk.wait_until("42 is allowed", || (0..9).all(|_| desk.check("42")));
    assert_eq!(desk.checks(9, "43"), 3);
}

#[test]
fn one_client_has_another_limit_until_a_date() {
    let desk = Desk::new(POLICY);
    let words = [
        "keys", "override", "api", "user:42", "--rate", "0.001", "--burst", "7", "--reason", "launch",
        "--for", "1d",
    ];
    let given = desk.good(&words);
    assert!(given.contains("0.001/s, burst 7"), "{given}");
    desk.wait_until("42 has more", || desk.good(&["rules", "list"]).contains("burst 7"));
    let shown = desk.good(&["keys", "get", "api", "user:42"]);
    assert!(shown.contains("limit       0.001/s, burst 7"), "what counts for 42: {shown}");
    let shown = desk.good(&["keys", "get", "api", "user:43"]);
    assert!(shown.contains("limit       1/h, burst 3"), "{shown}");
    assert!(desk.checks(20, "42") <= 7);
    assert_eq!(desk.checks(20, "43"), 3);
}

#[test]
fn the_loudest_clients_are_listed_as_the_other_verbs_take_them() {
    let desk = Desk::new(POLICY);
    desk.checks(9, "42");
    desk.check("43");
    desk.wait_until("42 is seen", || desk.good(&["keys", "top"]).contains("user:42"));
    assert_eq!(desk.good(&["keys", "top", "--rule", "everyone"]), "Nobody was denied in the last minute.\n");
    let top = desk.good(&["keys", "top", "--rule", "api", "--by", "denied", "--limit", "1"]);
    let line: Vec<&str> = top.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(line[..2], ["api", "user:42"], "{top}");
    desk.good(&["keys", "get", line[0], line[1]]);
    assert!(desk.json(&["keys", "top"])["rules"].is_array());
}

#[test]
fn what_makes_no_sense_is_refused_with_its_cure() {
    let desk = Desk::new(POLICY);
    for (words, code, told) in [
        (&["keys", "block", "zork", "--reason", "x"][..], 2, "write user:NAME"),
        (&["keys", "block", "user:1"], 2, "--reason"),
        (&["keys", "block", "user:1", "--reason", "x", "--for", "soon"], 2, "30m, 2h or 7d"),
        (&["keys", "block", "user:1", "--reason", "x", "--until", "2h"], 2, "2026-11-20T10:00Z"),
        (&["keys", "block", "user:1", "--reason", "x", "--until", "2020-01-01"], 1, "expires"),
        (&["keys", "grant", "api", "user:1", "0", "--reason", "x"], 2, "above 0"),
        (
            &["keys", "grant", "api", "user:1", "0.0000001", "--reason", "x"],
            1,
            "error: `tokens` is 0.0000001, finer",
        ),
        (
            &["keys", "block", "user:1", "--reason", "x", "--for", "36500d"],
            2,
            "'36500d' for '--for <LENGTH>'",
        ),
        (&["keys", "block", "user:1", "--reason", "x", "--for", "36500d"], 2, "7d, at most 3660d"),
        (&["keys", "block", "user:1", "--reason", "x", "--for", "3660d1s"], 2, "7d, at most 3660d"),
        (
            &["keys", "block", "user:1", "--reason", &"x".repeat(513)],
            1,
            "error: `reason` has 513 bytes, 512 at most; shorten it",
        ),
        (&["keys", "get", "nope", "user:1"], 1, "no rule `nope` is in force"),
        (&["keys", "get", "api", ""], 1, "`key` is missing"),
        (&["keys", "release", "99", "--reason", "x"], 1, "order 99"),
        (&["keys", "override", "api", "user:1", "--rate", "x", "--burst", "1", "--reason", "x"], 1, "rate"),
    ] {
        let complaint = desk.complaint(words, code);
        assert!(complaint.starts_with("error: ") && complaint.contains(told), "{words:?}: {complaint}");
    }
}

/// K40: a block that was ordered over the admin API looks at every value of the field.
#[test]
fn ordered_block_is_not_evaded_by_a_second_value() {
    let policy = r#"rules: [{name: keyed, limit_keys: ["header:x-api-key"], missing: skip, rate: 9/s, burst: 99},
        {name: session, limit_keys: ["cookie:session"], missing: skip, rate: 9/s, burst: 99}]"#;
    let desk = Desk::new(policy);
    let status = |lines: &[&[u8]]| {
        let mut http = desk.server.http();
        let mut head =
            b"GET /v1/forward-auth/traefik HTTP/1.1\r\nhost: test\r\nx-forwarded-for: 192.0.2.7\r\n\
                         x-forwarded-method: GET\r\nx-forwarded-uri: /\r\n"
                .to_vec();
        for line in lines {
            head.extend([line, &b"\r\n"[..]].concat());
        }
        head.extend(b"\r\n");
        http.send(head);
        http.answer().status
    };
    let field: &[u8] = b"x-api-key: leaked";
    let cookie: &[u8] = b"cookie: session=stolen";
    assert_eq!([status(&[field]), status(&[cookie])], [200, 200]);
    for (rule, who) in [("keyed", "key:header:x-api-key=leaked"), ("session", "key:cookie:session=stolen")] {
        let order = json!({ "kind": "block", "rule": rule, "who": who, "reason": "stolen" });
        let given = desk.post_admin("orders", &order);
        assert_eq!(given.status, 201, "{}", given.body);
    }
    desk.wait_until("both are blocked", || [status(&[field]), status(&[cookie])] == [403, 403]);
    for lines in [
        &[field, field][..],
        &[field, b"x-api-key:"],
        &[b"x-api-key: other", field],
        &[b"x-api-key: \xff", field],
        &[cookie, cookie],
        &[b"cookie: session=stolen; session=stolen"],
        &[b"cookie: session=stolen; x=\xff"],
    ] {
        let shown: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
        assert_eq!(status(lines), 403, "{shown:?}");
    }
    assert_eq!(status(&[b"x-api-key: other"]), 200);
}
