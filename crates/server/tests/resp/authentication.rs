//! Nothing but AUTH, HELLO, RESET and QUIT before the password.

use crate::wire::{Conversation, check, command, request};

const NOAUTH: &str = "-NOAUTH Authentication required.|";
const WRONG: &str = "-WRONGPASS invalid username-password pair or user is disabled.|";

#[test]
fn nothing_is_answered_before_the_password() {
    let mut conversation = Conversation::with_password("sesame");
    for asked in [
        "PING",
        "CL.THROTTLE k 1 1 1",
        "COMMAND",
        "CLIENT ID",
        "CLIENT SETINFO a b",
        "INFO",
        "SELECT 0",
        "foo",
        "",
    ] {
        assert_eq!(conversation.ask(asked), NOAUTH, "{asked}");
    }
    let hello = conversation.ask("HELLO 3");
    assert!(
        hello.starts_with("-NOAUTH HELLO must be called with the client already authenticated, otherwise"),
        "{hello}"
    );
    assert!(conversation.table.calls.is_empty(), "the engine was not asked");
    check(
        &mut conversation,
        &[
            ("AUTH", "-ERR wrong number of arguments for 'auth' command|"),
            ("AUTH a b c", "-ERR syntax error|"),
            ("AUTH wrong", WRONG),
            ("AUTH default wrong", WRONG),
            ("AUTH bob sesame", WRONG),
            ("PING", NOAUTH),
            ("AUTH sesame", "+OK|"),
            ("PING", "+PONG|"),
            ("AUTH wrong", WRONG),
            ("PING", "+PONG|"),
            ("CL.THROTTLE k 15 30 60", "*5|:0|:16|:15|:-1|:2|"),
            ("RESET", "+RESET|"),
            ("PING", NOAUTH),
            ("QUIT", "+OK|"),
        ],
    );
    assert!(conversation.is_closed);
}

#[test]
fn the_password_may_come_with_hello() {
    let mut conversation = Conversation::with_password("sesame");
    assert_eq!(conversation.ask("HELLO 3 AUTH default wrong"), WRONG);
    assert_eq!(conversation.ask("HELLO 3 AUTH bob sesame"), WRONG);
    assert_eq!(conversation.ask("PING"), NOAUTH);
    assert!(conversation.ask("HELLO 3 AUTH default sesame SETNAME me").starts_with("%7|"));
    check(&mut conversation, &[("PING", "+PONG|"), ("CLIENT GETNAME", "$2|me|")]);
}

#[test]
fn a_pipeline_behind_the_password_is_answered() {
    let mut conversation = Conversation::with_password("sesame");
    let pipeline =
        [command("AUTH default sesame"), command("CL.THROTTLE k 0 1 60"), command("PING")].concat();
    assert_eq!(conversation.send(&pipeline), b"+OK\r\n*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n+PONG\r\n");
}

#[test]
fn without_a_password_auth_says_so() {
    check(
        &mut Conversation::new(),
        &[
            (
                "AUTH x",
                "-ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?|",
            ),
            ("AUTH default x", "+OK|"),
            ("AUTH bob x", WRONG),
        ],
    );
}

#[test]
fn strangers_may_send_less() {
    let mut many = Conversation::with_password("sesame");
    assert_eq!(many.ask("a b c d e f g h i j"), NOAUTH);
    assert_eq!(many.ask("a b c d e f g h i j k"), "-ERR Protocol error: unauthenticated multibulk length|");
    assert!(many.is_closed);
    let mut long = Conversation::with_password("sesame");
    let reply = long.send(&request(&[b"AUTH", &vec![b'x'; 16 * 1_024 + 1]]));
    assert_eq!(reply, b"-ERR Protocol error: unauthenticated bulk length\r\n");
    assert!(long.is_closed);
}
