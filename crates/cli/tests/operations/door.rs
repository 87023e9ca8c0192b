//! Which door is asked, by which token, and what is said where that cannot be.

use crate::desk::{Desk, POLICY, ran};
use crate::scratch::Scratch;
use crate::server::{Server, tollgate};

#[test]
fn nobody_there_is_told_with_address_flag_and_cure() {
    let ran = ran(&mut tollgate(&["rules", "list", "--admin-url", "http://127.0.0.1:1"]));
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (
            1,
            "",
            "error: no answer from the admin door at http://127.0.0.1:1: Connection refused (os error 111); start a server with \
             `tollgate serve`, or say where it is with --admin-url or TOLLGATE_ADMIN_URL\n"
        )
    );
}

#[test]
fn what_is_no_url_is_wrong_usage_as_a_flag_and_a_failure_in_the_environment() {
    let by_flag = ran(&mut tollgate(&["keys", "top", "--admin-url", "localhost"]));
    assert_eq!(by_flag.code, 2, "{}", by_flag.stderr);
    assert!(by_flag.stderr.starts_with("error: --admin-url is 'localhost': "), "{}", by_flag.stderr);
    let by_variable = ran(tollgate(&["keys", "top"]).env("TOLLGATE_ADMIN_URL", "localhost"));
    assert_eq!(by_variable.code, 1, "{}", by_variable.stderr);
    assert!(
        by_variable.stderr.starts_with("error: TOLLGATE_ADMIN_URL is 'localhost': "),
        "{}",
        by_variable.stderr
    );
}

#[test]
fn a_token_comes_from_the_environment_or_a_file_and_is_shown_nowhere() {
    let desk = Desk::new(POLICY);
    let without = ran(desk.command(&["rules", "list"]).env_remove("TOLLGATE_ADMIN_TOKEN"));
    assert_eq!(without.code, 1);
    assert!(
        without.stderr.contains("a token is needed") && without.stderr.contains("TOLLGATE_ADMIN_TOKEN"),
        "{}",
        without.stderr
    );

    let made = ran(&mut tollgate(&[
        "token",
        "create",
        "--role",
        "viewer",
        "--name",
        "vic",
        "--records",
        &desk.records(),
    ]));
    let file = desk.scratch.write("token", &made.stdout);
    let mut by_flag = desk.command(&["rules", "list", "--token-file", &file]);
    assert_eq!(ran(by_flag.env_remove("TOLLGATE_ADMIN_TOKEN")).code, 0);
    let mut by_variable = desk.command(&["rules", "list"]);
    by_variable.env_remove("TOLLGATE_ADMIN_TOKEN").env("TOLLGATE_ADMIN_TOKEN_FILE", &file);
    assert_eq!(ran(&mut by_variable).code, 0);

    let guess = "tg_0123456789abcdef_wrong";
    let wrong = ran(desk.command(&["rules", "list"]).env("TOLLGATE_ADMIN_TOKEN", guess));
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.stderr.contains("there is no such token") && !wrong.stderr.contains(guess),
        "{}",
        wrong.stderr
    );
    let missing = ran(&mut desk.command(&["rules", "list", "--token-file", "/nowhere/token"]));
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("--token-file is '/nowhere/token'"), "{}", missing.stderr);
}

#[test]
fn a_door_may_be_a_socket_of_this_machine() {
    let scratch = Scratch::new();
    let socket = format!("unix:{}", scratch.path("admin.sock"));
    let _server = Server::new(&["--admin", &socket]);
    let list = ran(&mut tollgate(&["rules", "list", "--admin-url", &socket]));
    assert_eq!(list.code, 0, "{}", list.stderr);
    assert!(list.stdout.starts_with("NAME"), "{}", list.stdout);
    // There is no place to keep an order; whoever has no token may not give one anyhow.
    let order = ran(&mut tollgate(&["keys", "orders", "--admin-url", &socket]));
    assert_eq!(order.code, 1);
    assert!(order.stderr.contains("--records"), "{}", order.stderr);
}

#[test]
fn a_door_that_speaks_no_tls_is_told_apart_from_none() {
    let server = Server::new(&[]);
    let url = format!("https://{}", server.address("admin"));
    let list = ran(&mut tollgate(&["rules", "list", "--admin-url", &url]));
    assert_eq!(list.code, 1, "{}", list.stdout);
    assert!(list.stderr.contains(&url) && list.stderr.contains("use http://"), "{}", list.stderr);
}

#[test]
fn another_service_is_no_admin_door() {
    let server = Server::new(&[]);
    let url = format!("http://{}", server.address("http"));
    let list = ran(&mut tollgate(&["rules", "list", "--admin-url", &url]));
    assert_eq!(list.code, 1, "{}", list.stdout);
    assert!(list.stderr.contains("there is nothing at this path"), "{}", list.stderr);
}

#[test]
fn the_server_knows_that_the_commands_have_a_variable() {
    let mut server = Server::with(&[], |command| command.env("TOLLGATE_ADMIN_URL", "http://127.0.0.1:8082"));
    server.wait_for_silence(std::time::Duration::from_millis(200));
    assert_eq!(server.times_said("TOLLGATE_ADMIN_URL"), 0, "{:#?}", server.said);
}
