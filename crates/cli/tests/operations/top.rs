//! `tollgate top`.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::desk::{Desk, POLICY};
use crate::mortal::mortal;

#[test]
fn without_a_terminal_it_prints_one_table_and_ends() {
    let desk = Desk::new(POLICY);
    desk.checks(6, "42");
    for words in [&["top"][..], &["top", "--once", "--by", "admitted"]] {
        let text = desk.good(words);
        for told in ["policy ", "store memory", "RULE", "ADMITTED/S", "api", "everyone", "user:42"] {
            assert!(text.contains(told), "{told}: {text}");
        }
    }
    let json = desk.json(&["top"]);
    assert!(
        json["status"]["version"].is_string() && json["rules"].is_array() && json["top"].is_object(),
        "{json}"
    );
}

#[test]
fn on_a_terminal_it_is_drawn_until_q_and_leaves_the_terminal_as_it_was() {
    let desk = Desk::new(POLICY);
    desk.checks(6, "42");
    let own = desk.command(&["top"]);
    // A terminal has a size, and nothing takes for ever.
    let typed = concat!("stty rows 30 cols 100; exec ", env!("CARGO_BIN_EXE_tollgate"), " top");
    let mut command = mortal("timeout");
    command.args(["20", "script", "-qec", typed, "/dev/null"]);
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut seen, mut piece) = (Vec::new(), [0; 4_096]);
    while !String::from_utf8_lossy(&seen).contains("q quit") {
        let count = screen.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend(&piece[..count]);
    }
    keys.write_all(b"q").unwrap();
    let mut rest = String::new();
    screen.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(rest.contains("\u{1b}[?1049l"), "the screen from before is back: {rest:?}");
}
