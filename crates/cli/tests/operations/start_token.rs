//! The viewer token of one start: who is told of it, where it is kept, and which commands send it.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::desk::{POLICY, Ran, ran};
use crate::http_client::Connection;
use crate::mortal::mortal;
use crate::scratch::Scratch;
use crate::server::{Server, tollgate};

/// A service without any token, and its state directory.
struct Fresh {
    server: Server,
    scratch: Scratch,
}

impl Fresh {
    fn new(flags: &[&str]) -> Fresh {
        let scratch = Scratch::new();
        let (state, policy) = (scratch.path("state"), scratch.write("policy.yaml", POLICY));
        let mut server = Server::new(&[&["--policy", &policy, "--state-dir", &state], flags].concat());
        server.wait_for("Try: ");
        Fresh { server, scratch }
    }

    /// A command of the same user, which asks this server.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = tollgate(words);
        command.env("TOLLGATE_ADMIN_URL", format!("http://{}", self.server.address("admin")));
        command.env("TOLLGATE_STATE_DIR", self.scratch.path("state"));
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        ran(&mut self.command(words))
    }

    fn file(&self) -> PathBuf {
        let name = format!("admin-{}.token", self.server.address("admin").port());
        self.scratch.0.join("state").join(name)
    }
}

/// The one token file in a state directory.
fn token_file(state: &str) -> PathBuf {
    let mut paths = std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|it| it == "token")).unwrap()
}

#[test]
fn start_token_serves_commands_of_the_same_user() {
    let fresh = Fresh::new(&[]);
    assert_eq!(fresh.file().metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    for words in [&["rules", "list"][..], &["violations"], &["top", "--once"], &["audit"], &["keys", "top"]] {
        let ran = fresh.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
    }
    let refused = fresh.run(&["keys", "block", "user:1", "--reason", "x"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("tollgate token create --role operator"), "{}", refused.stderr);

    let elsewhere = ran(fresh.command(&["rules", "list"]).env("TOLLGATE_STATE_DIR", "/nowhere"));
    assert_eq!(elsewhere.code, 1);
    let tried = format!("no file '/nowhere/{}'", fresh.file().file_name().unwrap().display());
    for told in [
        "no token is configured",
        "tollgate token create",
        &tried,
        "--state-dir or TOLLGATE_STATE_DIR",
        "TOLLGATE_ADMIN_TOKEN",
    ] {
        assert!(elsewhere.stderr.contains(told), "{told}: {}", elsewhere.stderr);
    }
    assert!(!elsewhere.stderr.contains("PORT"), "{}", elsewhere.stderr);
    let flagged = ["rules", "list", "--state-dir", &fresh.scratch.path("state")];
    let flagged = ran(fresh.command(&flagged).env("TOLLGATE_STATE_DIR", "/nowhere"));
    assert_eq!(flagged.code, 0, "{}", flagged.stderr);
    // A token that is named goes before the file.
    let named = ran(fresh.command(&["rules", "list"]).env("TOLLGATE_ADMIN_TOKEN", "tg_0123456789abcdef_x"));
    assert!(named.code == 1 && named.stderr.contains("there is no such token"), "{}", named.stderr);

    std::fs::set_permissions(fresh.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = fresh.run(&["rules", "list"]);
    assert_eq!(open.code, 1);
    for told in ["admin-", "its mode is 0644", "TOLLGATE_ADMIN_TOKEN"] {
        assert!(open.stderr.contains(told), "{told}: {}", open.stderr);
    }
}

#[test]
fn start_token_ends_when_a_token_is_created() {
    let fresh = Fresh::new(&[]);
    assert_eq!(fresh.run(&["rules", "list"]).code, 0);
    let token = std::fs::read_to_string(fresh.file()).unwrap();
    let made = fresh.run(&["token", "create", "--role", "viewer", "--name", "ann"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let old = ran(fresh.command(&["rules", "list"]).env("TOLLGATE_ADMIN_TOKEN", token.trim_end()));
    assert!(old.code == 1 && old.stderr.contains("was revoked"), "{}", old.stderr);
    assert!(!fresh.file().exists());
    let without = fresh.run(&["rules", "list"]);
    assert!(without.code == 1 && without.stderr.contains("a token is needed"), "{}", without.stderr);
    let new = ran(fresh.command(&["rules", "list"]).env("TOLLGATE_ADMIN_TOKEN", made.stdout.trim_end()));
    assert_eq!(new.code, 0, "{}", new.stderr);
}

#[test]
fn start_token_file_is_removed_at_exit_and_never_logged() {
    for form in ["text", "json"] {
        let scratch = Scratch::new();
        let state = scratch.path("state");
        // As much as there is to log.
        let mut server = Server::begun(&["--state-dir", &state, "--log", form], |command| {
            command.env("RUST_LOG", "trace,hyper=info,h2=info")
        });
        server.wait_for("tollgate token create");
        let file = token_file(&state);
        let token = std::fs::read_to_string(&file).unwrap();
        let port = file.file_stem().unwrap().to_str().unwrap().rsplit_once('-').unwrap().1.to_owned();
        let mut list = tollgate(&["rules", "list", "--admin-url", &format!("http://127.0.0.1:{port}")]);
        let list = ran(list.env("TOLLGATE_STATE_DIR", &state));
        assert_eq!(list.code, 0, "{}", list.stderr);
        server.signal("TERM");
        let (status, said) = server.ended();
        assert!(status.success() && !file.exists(), "{said:#?}");
        let secret = token.trim_end().rsplit('_').next().unwrap();
        assert!(secret.len() == 64 && !said.iter().any(|line| line.contains(secret)), "{said:#?}");
    }
}

#[test]
fn banner_of_an_admin_socket_says_how_a_token_is_made() {
    let scratch = Scratch::new();
    let (state, socket) = (scratch.path("state"), format!("unix:{}", scratch.path("admin.sock")));
    let create = "tollgate token create --role admin --name NAME";
    for form in ["text", "json"] {
        let serve = |admin: &str| {
            let flags = ["--state-dir", &state, "--log", form, "--admin", admin];
            let mut server = Server::begun(&flags, |command| command);
            server.wait_for(if form == "text" { "Try: " } else { "tollgate is ready" });
            server.times_said(create)
        };
        assert_eq!((serve(&socket), serve("off")), (1, 0), "{form}");
    }
    let records = format!("sqlite:{state}/tollgate.db");
    let make = ["token", "create", "--role", "admin", "--name", "ann", "--records", &records];
    assert_eq!(ran(&mut tollgate(&make)).code, 0);
    let mut server = Server::begun(&["--state-dir", &state, "--admin", &socket], |command| command);
    server.wait_for("Try: ");
    assert_eq!(server.times_said(create), 0, "there is a token");
}

#[test]
fn start_token_is_printed_at_a_terminal() {
    let scratch = Scratch::new();
    let state = scratch.path("state");
    let typed = format!(
        "exec {} serve --http off --resp off --admin 127.0.0.1:0 --state-dir {state}",
        env!("CARGO_BIN_EXE_tollgate")
    );
    let mut command = mortal("timeout");
    command.args(["20", "script", "-qec", &typed, "/dev/null"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let (mut seen, mut piece) = (String::new(), [0; 4_096]);
    while !seen.contains("commands of this user use") {
        let count = screen.read(&mut piece).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    let file = token_file(&state);
    let token = std::fs::read_to_string(&file).unwrap();
    assert!(seen.contains(&format!("/#sign-in={}", token.trim_end())), "{seen}");
    assert!(seen.contains("tollgate token create"), "{seen}");
    // Ctrl-C at the terminal: `script` ends after the program.
    child.stdin.take().unwrap().write_all(b"\x03").unwrap();
    screen.read_to_end(&mut Vec::new()).unwrap();
    let _ = child.wait();
    assert!(!file.exists());
}

#[test]
fn unwritable_state_directory_is_warned_of_and_served() {
    let scratch = Scratch::new();
    // A file where the folder should be: even root cannot make it.
    let state = scratch.write("state", "");
    let mut server = Server::new(&["--state-dir", &state, "--records", "off"]);
    server.wait_for("Try: ");
    let warning = server.said.iter().find(|line| line.contains("WARN"));
    let warning = warning.unwrap_or_else(|| panic!("no warning in {:#?}", server.said));
    for told in ["viewer token file not written", "admin-", "--state-dir"] {
        assert!(warning.contains(told), "{told}: {warning}");
    }
    assert_eq!(server.http().get("/livez").status, 200);
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(server.admin(path).status, 200, "{path}");
    }
    let mut admin = Connection::to(server.address("admin"));
    admin.send("GET /admin/v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(admin.answer().status, 401);
}
