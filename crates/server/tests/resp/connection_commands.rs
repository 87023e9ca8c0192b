//! What clients say before they ask for anything, word by word as Redis 7.0 answers it.

use crate::wire::{Conversation, check, command};

const HELLO: &str = "$6|server|$8|tollgate|$7|version|$5|7.0.0|$5|proto|:";
const HELLO_REST: &str = "|$2|id|:7|$4|mode|$10|standalone|$4|role|$6|master|$7|modules|*0|";

#[test]
fn the_small_commands_answer_as_redis_does() {
    check(
        &mut Conversation::new(),
        &[
            ("PING", "+PONG|"),
            ("ping hello", "$5|hello|"),
            ("PING a b", "-ERR wrong number of arguments for 'ping' command|"),
            ("ECHO hello", "$5|hello|"),
            ("ECHO", "-ERR wrong number of arguments for 'echo' command|"),
            ("SELECT 0", "+OK|"),
            ("SELECT 1", "-ERR DB index is out of range|"),
            ("SELECT x", "-ERR value is not an integer or out of range|"),
            ("RESET", "+RESET|"),
            ("RESET x", "-ERR wrong number of arguments for 'reset' command|"),
            ("CONFIG GET save", "*2|$4|save|$0||"),
            ("CONFIG GET appendonly", "*2|$10|appendonly|$2|no|"),
            ("CONFIG GET maxmemory", "*0|"),
            ("CONFIG GET", "-ERR wrong number of arguments for 'config|get' command|"),
            ("CONFIG SET a b", "-ERR unknown subcommand 'SET'. Try CONFIG HELP.|"),
        ],
    );
}

#[test]
fn quit_is_answered_and_ends_the_connection_with_what_follows_it() {
    let mut conversation = Conversation::new();
    let replies = conversation.send(&[command("PING"), command("QUIT now"), command("PING")].concat());
    assert_eq!(replies, b"+PONG\r\n+OK\r\n");
    assert!(conversation.is_closed);
    assert_eq!(conversation.ask("PING"), "", "a closed connection hears nothing");
}

#[test]
fn an_unknown_command_gets_redis_words_and_no_more_than_the_beginning_of_its_arguments() {
    let mut conversation = Conversation::new();
    check(
        &mut conversation,
        &[
            ("foo", "-ERR unknown command 'foo', with args beginning with: |"),
            ("FoO a b", "-ERR unknown command 'FoO', with args beginning with: 'a' 'b' |"),
            ("SUBSCRIBE a", "-ERR unknown command 'SUBSCRIBE', with args beginning with: 'a' |"),
        ],
    );
    let long = format!("{} {} {} d", "f".repeat(300), "x".repeat(30), "z".repeat(200));
    let (name, second) = ("f".repeat(128), "z".repeat(95));
    let x = "x".repeat(30);
    assert_eq!(
        conversation.ask(&long),
        format!("-ERR unknown command '{name}', with args beginning with: '{x}' '{second}' |")
    );
    assert_eq!(
        conversation.send(b"*1\r\n$8\r\nfoo\r\nbar\r\n"),
        b"-ERR unknown command 'foo  bar', with args beginning with: \r\n"
    );
}

#[test]
fn hello_chooses_the_protocol() {
    let second = format!("*14|{HELLO}2{HELLO_REST}");
    let third = format!("%7|{HELLO}3{HELLO_REST}");
    check(
        &mut Conversation::new(),
        &[
            ("CLIENT GETNAME", "$-1|"),
            ("HELLO", &second),
            ("HELLO 3", &third),
            ("HELLO", &third),
            ("CLIENT GETNAME", "_|"),
            ("CONFIG GET save", "%1|$4|save|$0||"),
            ("COMMAND INFO nope", "*1|_|"),
            ("CL.THROTTLE k 15 30 60", "*5|:0|:16|:15|:-1|:2|"),
            ("HELLO 4", "-NOPROTO unsupported protocol version|"),
            ("HELLO x", "-ERR Protocol version is not an integer or out of range|"),
            ("HELLO 2 FOO", "-ERR Syntax error in HELLO option 'FOO'|"),
            ("HELLO 2 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'|"),
            ("HELLO 2 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'|"),
            ("HELLO", &third),
            ("HELLO 2 setname worker", &second),
            ("CLIENT GETNAME", "$6|worker|"),
            ("HELLO 3 AUTH default anything SETNAME other", &third),
            ("RESET", "+RESET|"),
            ("CLIENT GETNAME", "$-1|"),
        ],
    );
}

#[test]
fn client_is_answered_harmlessly() {
    check(
        &mut Conversation::new(),
        &[
            ("CLIENT ID", ":7|"),
            ("CLIENT SETINFO LIB-NAME redis-py", "+OK|"),
            ("CLIENT SETINFO lib-ver 5.0.0", "+OK|"),
            ("CLIENT SETNAME worker", "+OK|"),
            ("CLIENT GETNAME", "$6|worker|"),
            ("CLIENT INFO", "$42|id=7 name=worker db=0 user=default resp=2\n|"),
            ("CLIENT NO-EVICT on", "+OK|"),
            ("CLIENT NO-TOUCH off", "+OK|"),
            ("CLIENT NO-TOUCH maybe", "-ERR syntax error|"),
            ("CLIENT REPLY ON", "+OK|"),
            ("CLIENT REPLY OFF", "-ERR every command has a reply here; leave CLIENT REPLY ON|"),
            ("CLIENT TRACKING OFF", "+OK|"),
            ("CLIENT TRACKING ON", "-ERR there is nothing to track here; leave CLIENT TRACKING OFF|"),
            ("CLIENT", "-ERR wrong number of arguments for 'client' command|"),
            ("CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command|"),
            ("CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command|"),
            ("CLIENT KILL x", "-ERR unknown subcommand 'KILL'. Try CLIENT HELP.|"),
            (
                "CLIENT SETNAME \x07",
                "-ERR Client names cannot contain spaces, newlines or special characters.|",
            ),
            ("CLIENT SETNAME ", "+OK|"),
            ("CLIENT GETNAME", "$-1|"),
        ],
    );
    let long = format!("CLIENT SETNAME {}", "n".repeat(129));
    assert_eq!(Conversation::new().ask(&long), "-ERR Client names cannot be longer than 128 bytes.|");
    assert!(Conversation::new().ask("CLIENT HELP").starts_with("*17|+CLIENT <subcommand>"));
}

#[test]
fn command_tells_of_every_command() {
    let mut conversation = Conversation::new();
    let throttle = "*10|$11|cl.throttle|:-1|*2|+write|+fast|:1|:1|:1|*2|+@write|+@fast|*0|*0|*0|";
    check(
        &mut conversation,
        &[
            ("COMMAND COUNT", ":18|"),
            ("COMMAND COUNT x", "-ERR wrong number of arguments for 'command|count' command|"),
            ("COMMAND INFO CL.THROTTLE nope", &format!("*2|{throttle}$-1|")),
            ("COMMAND DOCS nope", "*0|"),
            ("COMMAND FOO", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.|"),
        ],
    );
    let docs = conversation.ask("COMMAND DOCS echo");
    assert_eq!(
        docs,
        "*2|$4|echo|*6|$7|summary|$25|Answers with its argument|$5|since|$5|1.0.0|$5|group|$10|connection|"
    );
    assert_eq!(conversation.ask("COMMAND"), conversation.ask("COMMAND INFO"));
    assert!(conversation.ask("COMMAND").starts_with("*18|*10|$4|auth|"));
    assert!(conversation.ask("COMMAND LIST").starts_with("*18|$4|auth|$11|cl.throttle|"));
    let multi = "*10|$5|multi|:1|*1|+fast|:0|:0|:0|*2|+@fast|+@transaction|*0|*0|*0|";
    assert_eq!(conversation.ask("COMMAND INFO multi"), format!("*1|{multi}"));
}

#[test]
fn info_names_both_versions_and_says_that_it_is_ready() {
    let mut conversation = Conversation::new();
    let info = conversation.ask("INFO");
    assert!(info.contains("redis_version:7.0.0|tollgate_version:"), "{info}");
    assert!(info.contains("|loading:0|"), "{info}");
    assert_eq!(conversation.ask("INFO server"), info);
    assert_eq!(conversation.ask("INFO keyspace"), "$0||");
    conversation.ask("HELLO 3");
    assert!(conversation.ask("INFO").starts_with("=1"), "text that says it is text");
}
