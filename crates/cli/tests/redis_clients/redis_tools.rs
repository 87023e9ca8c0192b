//! redis-cli and redis-benchmark, as people type them.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::component::{is_skipped, tool};
use crate::mortal::mortal;
use crate::server::{PASSWORD, Server};

/// What a program of redis-tools says, with this on its stdin.
fn run(program: &str, server: &Server, arguments: &[&str], typed: &str) -> Output {
    let mut command = mortal(tool(&format!("redis-tools/usr/bin/{program}")));
    let libraries = std::fs::read_dir(tool("redis-tools/usr/lib")).unwrap().flatten();
    let libraries = libraries.map(|entry| entry.path().display().to_string()).collect::<Vec<_>>().join(":");
    command.env("LD_LIBRARY_PATH", libraries).env_remove("REDISCLI_AUTH");
    command.args(["-h", "127.0.0.1", "-p", &server.port.to_string()]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What redis-cli prints.
#[track_caller]
fn cli(server: &Server, arguments: &[&str]) -> String {
    let output = run("redis-cli", server, arguments, "");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn redis_cli_prints_the_five_integers_until_denied() {
    if is_skipped("redis-tools") {
        return;
    }
    let server = Server::new();
    for flag in ["-2", "-3"] {
        let throttle = || cli(&server, &[flag, "CL.THROTTLE", flag, "0", "1", "3600"]);
        assert_eq!(throttle(), "0\n1\n0\n-1\n3600");
        assert!(throttle().starts_with("1\n1\n0\n3"), "{}", throttle());
        assert_eq!(cli(&server, &[flag, "PING"]), "PONG");
        assert!(cli(&server, &[flag, "INFO", "server"]).contains("redis_version:"));
        assert!(cli(&server, &[flag, "COMMAND", "LIST"]).contains("tollgate.check"));
        assert_eq!(cli(&server, &[flag, "QUIT"]), "OK");
    }
}

#[test]
fn redis_cli_shows_what_the_policy_decides_as_json() {
    if is_skipped("redis-tools") {
        return;
    }
    let server = Server::new();
    let told = cli(&server, &["--json", "TOLLGATE.CHECK", "ip", "192.0.2.7", "path", "/api"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["admitted"], &told["remaining"]), (&1.into(), &2.into()), "{told}");
    assert_eq!((&told["rule"], &told["retry_after_ms"]), (&"client".into(), &().into()), "{told}");
}

#[test]
fn redis_cli_gives_the_password_or_is_told_that_one_is_needed() {
    if is_skipped("redis-tools") {
        return;
    }
    let server = Server::with_password();
    assert_eq!(cli(&server, &["-a", PASSWORD, "--no-auth-warning", "PING"]), "PONG");
    assert_eq!(cli(&server, &["--user", "default", "--pass", PASSWORD, "--no-auth-warning", "PING"]), "PONG");
    assert_eq!(cli(&server, &["PING"]), "NOAUTH Authentication required.");
    let wrong = run("redis-cli", &server, &["-a", "wrong", "--no-auth-warning", "PING"], "");
    let said = String::from_utf8_lossy(&wrong.stdout) + String::from_utf8_lossy(&wrong.stderr);
    assert!(said.contains("WRONGPASS") && said.contains("NOAUTH"), "{said}");
}

#[test]
fn redis_cli_ends_badly_where_the_reply_is_an_error_and_it_is_to_tell() {
    if is_skipped("redis-tools") {
        return;
    }
    let server = Server::new();
    let output = run("redis-cli", &server, &["-e", "CL.THROTTLE", "k", "15", "thirty", "60"], "");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("Couldn't parse as integer: thirty"), "{output:?}");
}

#[test]
fn redis_cli_pipes_thousands_of_commands() {
    if is_skipped("redis-tools") {
        return;
    }
    let server = Server::new();
    let request = "*5\r\n$11\r\nCL.THROTTLE\r\n$5\r\npiped\r\n$4\r\n9999\r\n$1\r\n1\r\n$5\r\n86400\r\n";
    let output = run("redis-cli", &server, &["--pipe"], &request.repeat(7_000));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("errors: 0, replies: 7000"), "{output:?}");
    assert!(
        cli(&server, &["CL.THROTTLE", "piped", "9999", "1", "86400", "0"]).starts_with("0\n10000\n3000\n")
    );
    let lines = run("redis-cli", &server, &[], &"CL.THROTTLE lines 99 1 86400 0\n".repeat(500));
    assert_eq!(String::from_utf8_lossy(&lines.stdout).matches("0\n100\n100\n-1\n0\n").count(), 500);
}

#[test]
fn redis_benchmark_measures_pings_throttles_and_checks() {
    if is_skipped("redis-tools") {
        return;
    }
    let server = Server::new();
    for (arguments, title) in [
        (&["-t", "ping"][..], "PING_MBULK"),
        (&["-P", "16", "CL.THROTTLE", "key:__rand_int__", "15", "30", "60"], "CL.THROTTLE"),
        (&["--threads", "2", "-3", "TOLLGATE.CHECK", "ip", "192.0.2.7", "path", "/api"], "TOLLGATE.CHECK"),
    ] {
        let arguments = [&["-n", "2000", "-c", "10", "-r", "100", "-q"], arguments].concat();
        let output = run("redis-benchmark", &server, &arguments, "");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        assert!(said.contains(title) && said.contains(" requests per second"), "{said}");
        assert!(!said.contains("Error") && !said.contains("WARNING"), "{said}");
    }
    let page = cli(&server, &["CL.THROTTLE", "afterwards", "15", "30", "60"]);
    assert_eq!(page, "0\n16\n15\n-1\n2");
}
