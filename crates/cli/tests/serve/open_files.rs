//! Idle connections, more than the system has sockets for: the doors are full before the system is, and say so.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::scratch::Scratch;
use crate::server::{PATIENCE, Server, complaint, tollgate};

/// The same command where so many files may be open; `which` limit: `-S` the soft one, nothing for both.
fn with_open_files<'c>(which: &str, files: u32, command: &'c mut Command) -> &'c mut Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {which} -n {files} && exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    *command = shell;
    command
}

/// Idle connections, all open.
fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
}

/// What a connection that asks nothing is told, once it is closed.
fn told(mut stream: &TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

/// The figure of a metric, from the admin door.
fn figure(server: &Server, metric: &str) -> u64 {
    let page = server.admin("/metrics").body;
    let line = page.lines().find_map(|line| line.strip_prefix(metric));
    line.unwrap_or_else(|| panic!("no {metric} in {page}")).trim().parse().unwrap()
}

/// Asks until the figure is reached; whoever was accepted before may be counted a moment later.
#[track_caller]
fn await_figure(server: &Server, metric: &str, least: u64) {
    let reached = (0..20_000).any(|_| figure(server, metric) >= least);
    assert!(reached, "{metric} {least}");
}

#[test]
fn with_few_files_the_doors_shed_and_count_and_health_and_snapshots_go_on() {
    let scratch = Scratch::new();
    let snapshot = scratch.path("snapshot");
    let flags = ["--snapshot", &snapshot, "--snapshot-every", "100ms"];
    let server = Server::with(&flags, |command| with_open_files("", 256, command));
    let warnings: Vec<&String> = server.said.iter().filter(|line| line.contains("WARN")).collect();
    assert!(
        matches!(&warnings[..], [only] if only.contains("256 files") && only.contains("ulimit -n")),
        "{warnings:?}"
    );

    let http = idle(server.address("http"), 150);
    let resp = idle(server.address("resp"), 150);
    // A share of what is left after health and files; the same for both.
    let places = 67;
    await_figure(&server, "tollgate_connections_shed_total{door=\"http\"}", 150 - places as u64);
    await_figure(&server, "tollgate_connections_shed_total{door=\"resp\"}", 150 - places as u64);
    assert!(told(&http[places]).starts_with("HTTP/1.1 503 "));
    assert_eq!(told(&resp[places]), "-ERR max number of clients reached\r\n");

    assert_eq!((server.admin("/livez").status, server.admin("/readyz").status), (200, 200));
    let admin = server.address("admin").to_string();
    assert_eq!(complaint(tollgate(&["healthcheck", "--admin", &admin])).0, Some(0));
    let saved = "tollgate_snapshots_total{result=\"saved\"}";
    await_figure(&server, saved, figure(&server, saved) + 2);
    assert_eq!(figure(&server, "tollgate_snapshots_total{result=\"failed\"}"), 0);

    drop((http, resp));
    // Places are given back a moment after their connections are gone.
    assert!((0..1_000).any(|_| {
        let mut http = server.http();
        http.send("GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        http.maybe_answer().is_some_and(|answer| answer.status == 200)
    }));
    server.signal("TERM");
    let (_, said) = server.ended();
    assert!(!said.iter().any(|line| line.contains("accept failed")), "{said:#?}");
}

#[test]
fn a_soft_limit_that_is_too_small_is_raised() {
    let flags = ["--max-connections", "200"];
    let server = Server::with(&flags, |command| with_open_files("-S", 128, command));
    assert!(!server.said.iter().any(|line| line.contains("WARN")), "{:#?}", server.said);
    let _idle = idle(server.address("http"), 199);
    assert_eq!(server.http().get("/livez").status, 200);
    assert_eq!(figure(&server, "tollgate_connections_shed_total{door=\"http\"}"), 0);
}
