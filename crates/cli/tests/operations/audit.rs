//! `tollgate audit`.

use crate::desk::{Desk, POLICY};

#[test]
fn the_trail_says_who_changed_what_and_why() {
    let desk = Desk::new(POLICY);
    desk.good(&["keys", "block", "user:42", "--reason", "ticket 4711"]);
    desk.good(&["keys", "unblock", "user:42", "--reason", "it is over"]);
    let text = desk.good(&["audit"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("WHEN") && lines[1].contains("it is over"), "newest first: {text}");
    assert!(lines[2].contains("order.give") && lines[2].contains("order 1 "), "{text}");
    assert!(lines[2].contains("127.0.0.1") && lines[2].ends_with("ticket 4711"), "{text}");

    let given = desk.good(&["audit", "--action", "order.give", "--target", "order 1"]);
    assert!(given.contains("ticket 4711") && !given.contains("it is over"), "{given}");
    let who = desk.json(&["audit", "--action", "order.give"])["lines"][0]["who"].as_str().unwrap().to_owned();
    assert_eq!(desk.good(&["audit", "--who", &who, "--target", "order 1"]).lines().count(), 3, "{who}");
    for words in [&["--who", "nobody"][..], &["--action", "order"], &["--target", "order 2"]] {
        let text = desk.good(&[&["audit"], words].concat());
        assert_eq!(text, "Nothing is in the audit trail that fits.\n", "{words:?}");
    }
}

#[test]
fn a_long_trail_is_read_page_by_page() {
    let desk = Desk::new(POLICY);
    for _ in 0..3 {
        desk.good(&["keys", "block", "user:42", "--reason", "again"]);
    }
    let page = desk.json(&["audit", "--limit", "2", "--action", "order.give"]);
    assert_eq!(page["lines"].as_array().unwrap().len(), 2);
    let cursor = page["cursor"].to_string();
    assert!(
        desk.good(&["audit", "--limit", "2", "--action", "order.give"])
            .ends_with(&format!("--cursor {cursor}\n"))
    );
    let rest = desk.json(&["audit", "--limit", "2", "--action", "order.give", "--cursor", &cursor]);
    assert_eq!(rest["lines"].as_array().unwrap().len(), 1, "{rest}");
}
