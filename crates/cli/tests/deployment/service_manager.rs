//! Under a service manager: what it is told, and sockets that it passes. The test plays the manager.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::Command;

use crate::mortal::mortal;
use crate::process::{PATIENCE, Process, tollgate};
use crate::scratch::Scratch;

const ONE: &str = "{name: one, scope: ip, rate: 1/s, burst: 1}\n";
const TWO: &str = "{name: two, scope: ip, rate: 2/s, burst: 2}\n";

/// The socket that the manager listens to.
struct Manager {
    socket: UnixDatagram,
    path: String,
}

impl Manager {
    fn new(scratch: &Scratch) -> Manager {
        let path = scratch.path("notify.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Manager { socket, path }
    }

    /// The next thing that it is told.
    #[track_caller]
    fn told(&self) -> String {
        let mut bytes = [0; 4_096];
        let length = self.socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    fn is_told_no_more(&self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        self.socket.recv(&mut [0; 1]).is_err()
    }
}

#[test]
fn the_manager_is_told_of_being_ready_reloading_and_stopping() {
    let scratch = Scratch::new();
    let manager = Manager::new(&scratch);
    let policy = scratch.write("policy.yaml", ONE);
    let mut serve =
        tollgate(&format!("serve --http 127.0.0.1:0 --resp off --admin 127.0.0.1:0 --policy {policy}"));
    serve.env("NOTIFY_SOCKET", &manager.path);
    let mut server = Process::start(serve);
    let ready = manager.told();
    assert!(ready.starts_with("READY=1\nSTATUS=policy version 1 ("), "{ready}");
    server.wait_for("  store ");
    let address = server.door("http");
    assert_eq!(
        check_over(TcpStream::connect(&address).unwrap()),
        "HTTP/1.1 200 OK",
        "it was ready when it said so"
    );

    server.signal("HUP");
    assert_eq!(manager.told(), "RELOADING=1\nSTATUS=reading the policy again");
    assert_eq!(manager.told(), ready, "nothing has changed");

    scratch.replace("policy.yaml", TWO);
    let swapped = manager.told();
    assert!(swapped.starts_with("STATUS=policy version 2 ("), "{swapped}");

    scratch.replace("policy.yaml", "{name: two, rate: none}\n");
    server.signal("HUP");
    let refused = "is in force; a later one was refused";
    // The watch and the signal come in either order.
    while !manager.told().ends_with(refused) {}

    server.signal("TERM");
    let mut last = manager.told();
    while !last.contains("STOPPING=1") {
        assert!(last.ends_with(refused) || last.starts_with("RELOADING=1"), "{last}");
        last = manager.told();
    }
    assert!(server.ended().0.success());
    assert!(manager.is_told_no_more());
}

/// A server that is watched over: it is taken for dead if it says nothing for so long.
fn watched(manager: &Manager, time_us: u32, process: Option<&str>) -> Process {
    let mut serve = tollgate("serve --http 127.0.0.1:0 --resp off --admin off --grace 1h");
    serve.env("NOTIFY_SOCKET", &manager.path).env("WATCHDOG_USEC", time_us.to_string());
    serve.envs(process.map(|id| ("WATCHDOG_PID", id)));
    Process::serving(serve)
}

#[test]
fn a_watchdog_is_fed_in_time_while_it_serves_and_while_it_stops() {
    let scratch = Scratch::new();
    let manager = Manager::new(&scratch);
    let server = watched(&manager, 400_000, None);
    assert!(manager.told().starts_with("READY=1\n"));
    for _ in 0..5 {
        assert_eq!(manager.told(), "WATCHDOG=1");
    }
    // Somebody is in the middle of a request, for as long as the grace time.
    let mut open = TcpStream::connect(server.door("http")).unwrap();
    open.write_all(b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{").unwrap();
    assert_eq!(check_over(TcpStream::connect(server.door("http")).unwrap()), "HTTP/1.1 200 OK");
    server.signal("TERM");
    while !manager.told().starts_with("STOPPING=1") {}
    assert_eq!(manager.told(), "WATCHDOG=1", "it still lives");
    open.write_all(b"}").unwrap();
    assert!(server.ended().0.success());
}

#[test]
fn a_watchdog_of_another_process_is_not_fed() {
    let scratch = Scratch::new();
    let manager = Manager::new(&scratch);
    let server = watched(&manager, 2_000, Some("1"));
    assert!(manager.told().starts_with("READY=1\n"));
    assert_eq!(check_over(TcpStream::connect(server.door("http")).unwrap()), "HTTP/1.1 200 OK");
    server.signal("TERM");
    assert!(manager.told().starts_with("STOPPING=1"));
    assert!(server.ended().0.success());
}

#[test]
fn a_manager_that_is_not_there_does_not_keep_the_server_from_serving() {
    for socket in ["/nowhere/notify.sock", "no path at all"] {
        let mut serve = tollgate("serve --http 127.0.0.1:0 --resp off --admin off");
        serve.env("NOTIFY_SOCKET", socket);
        let server = Process::serving(serve);
        assert_eq!(check_over(TcpStream::connect(server.door("http")).unwrap()), "HTTP/1.1 200 OK");
        server.signal("TERM");
        let (status, said) = server.ended();
        assert!(status.success() && said.contains("service manager"), "{said}");
    }
}

/// `tollgate serve`, started as a manager does that passes its socket as descriptor 3.
fn serve_with(socket: OwnedFd, environment: &str, flags: &str) -> Command {
    let mut shell = mortal("sh");
    let script = "exec 3<&0 </dev/null; export LISTEN_PID=$$ LISTEN_FDS=1 $1; shift; exec \"$@\"";
    shell.args(["-c", script, "sh", environment, env!("CARGO_BIN_EXE_tollgate"), "serve"]);
    shell.args(flags.split_whitespace()).stdin(socket);
    shell
}

/// The first line of what a connection answers to a check.
pub(crate) fn check_over(mut stream: impl std::io::Read + Write) -> String {
    stream.write_all(b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn who_connects_before_the_server_runs_is_answered_when_it_does() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let early = TcpStream::connect(address).unwrap();
    let serve = serve_with(
        listener.into(),
        "LISTEN_FDNAMES=tollgate-http.socket",
        "--http off --resp off --admin off",
    );
    let mut server = Process::start(serve);
    assert_eq!(check_over(early), "HTTP/1.1 200 OK");
    server.wait_for("  store ");
    assert_eq!(server.door("http"), address.to_string());
}

#[test]
fn a_unix_socket_is_passed_and_outlives_the_server() {
    let scratch = Scratch::new();
    let path = scratch.path("http.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let ours = listener.try_clone().unwrap();
    let mut server = Process::start(serve_with(listener.into(), "LISTEN_FDNAMES=", "--resp off --admin off"));
    assert_eq!(check_over(UnixStream::connect(&path).unwrap()), "HTTP/1.1 200 OK");
    server.wait_for("  store ");
    assert_eq!(server.door("http"), format!("unix:{path}"));
    server.signal("TERM");
    assert!(server.ended().0.success());
    let late = UnixStream::connect(&path).unwrap();
    let again = Process::start(serve_with(ours.into(), "LISTEN_FDNAMES=http", "--resp off --admin off"));
    assert_eq!(check_over(late), "HTTP/1.1 200 OK", "the next one answers whoever came between");
    drop(again);
}

#[test]
fn a_socket_for_the_redis_protocol_is_passed_by_its_name() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let _server =
        Process::start(serve_with(listener.into(), "LISTEN_FDNAMES=resp", "--http off --admin off"));
    client.write_all(b"CL.THROTTLE a 0 1 1\r\n").unwrap();
    let mut lines = BufReader::new(client).lines().map(Result::unwrap);
    assert_eq!(lines.by_ref().take(2).collect::<Vec<_>>(), ["*5", ":0"]);
}

#[test]
fn sockets_for_somebody_else_are_left_alone() {
    let mut serve = tollgate("serve --http 127.0.0.1:0 --resp off --admin off");
    serve.envs([("LISTEN_PID", "1"), ("LISTEN_FDS", "1")]);
    let server = Process::serving(serve);
    assert_eq!(check_over(TcpStream::connect(server.door("http")).unwrap()), "HTTP/1.1 200 OK");
}

#[test]
fn a_socket_that_is_no_door_ends_the_server_with_its_cure() {
    let refusal = |socket: OwnedFd, names: &str| {
        let (status, said) = Process::start(serve_with(socket, names, "")).ended();
        assert_eq!(status.code(), Some(1), "{said}");
        said
    };
    let said = refusal(TcpListener::bind("127.0.0.1:0").unwrap().into(), "LISTEN_FDNAMES=web");
    assert!(
        said.starts_with("error: a socket was passed with the name 'web', which is no door; pass one socket"),
        "{said}"
    );
    let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let said = refusal(datagrams.into(), "LISTEN_FDNAMES=http");
    assert!(
        said.starts_with("error: the socket that was passed for the http door accepts no connections; use"),
        "{said}"
    );
    let said = refusal(std::fs::File::open("/dev/null").unwrap().into(), "LISTEN_FDNAMES=http");
    assert!(
        said.starts_with("error: the socket that was passed for the http door accepts no connections; use"),
        "{said}"
    );
    let said = refusal(TcpListener::bind("127.0.0.1:0").unwrap().into(), "LISTEN_FDS=70000");
    assert!(
        said.starts_with("error: LISTEN_FDS is '70000', no number from 1 to 4; pass one socket"),
        "{said}"
    );
}
