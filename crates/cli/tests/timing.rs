//! The RESP and HTTP doors under clients that pipeline without end, in wall time. Run alone and optimised, by the gate's step `proofs`.
#![expect(clippy::disallowed_methods, reason = "these tests are about the wall clock")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "beside/mortal.rs"]
mod mortal;
#[path = "timing/patterns.rs"]
mod patterns;
#[path = "serve/scratch.rs"]
mod scratch;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use self::mortal::mortal;

/// Longest that 99 of 100 questions of a polite client may take, beside greedy ones that keep the only thread busy.
const POLITE_P99_MAX: Duration = Duration::from_millis(50);
const QUESTIONS: usize = 300;
const GREEDY: usize = 2;

/// `tollgate serve` with one thread, on free ports.
struct Server {
    child: Child,
    resp: u16,
    http: u16,
}

impl Server {
    fn on_one_thread() -> Server {
        Server::on_one_thread_with(&[])
    }

    /// The same with these flags.
    fn on_one_thread_with(flags: &[&str]) -> Server {
        let mut command = mortal(env!("CARGO_BIN_EXE_tollgate"));
        command.args(["serve", "--http", "127.0.0.1:0", "--admin", "off", "--resp", "127.0.0.1:0"]);
        command.args(flags);
        command.env("TOKIO_WORKER_THREADS", "1");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut port = |door: &str| -> u16 {
            let found = lines.find_map(|line| {
                line.strip_prefix(door)?.split_whitespace().next()?.rsplit(':').next()?.parse().ok()
            });
            found.unwrap()
        };
        let (http, resp) = (port("  http "), port("  resp "));
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, resp, http }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks without a pause, and takes every answer, until it is told to stop.
fn ask_without_end(port: u16, request: &[u8], is_over: &AtomicBool, answered_bytes: &AtomicUsize) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut reading = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) && stream.write_all(request).is_ok() {}
            let _ = stream.shutdown(std::net::Shutdown::Both);
        });
        let mut room = vec![0; 1 << 16];
        while let Ok(bytes @ 1..) = reading.read(&mut room) {
            answered_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    });
}

/// How long 99 of 100 questions of a polite client take, beside greedy ones that ask at `port`.
fn polite_p99(server: &Server, port: u16, request: &[u8], question: &[u8], answer: &str) -> Duration {
    let (is_over, answered_bytes) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut times = std::thread::scope(|scope| {
        for _ in 0..GREEDY {
            scope.spawn(|| ask_without_end(port, request, &is_over, &answered_bytes));
        }
        while answered_bytes.load(Ordering::Relaxed) < 1_000_000 {
            std::thread::yield_now();
        }
        let polite_port = if question.starts_with(b"PING") { server.resp } else { server.http };
        let mut polite = TcpStream::connect(("127.0.0.1", polite_port)).unwrap();
        polite.set_nodelay(true).unwrap();
        polite.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let before = answered_bytes.load(Ordering::Relaxed);
        let times: Vec<Duration> = (0..QUESTIONS)
            .map(|_| {
                let begun = Instant::now();
                polite.write_all(question).unwrap();
                let mut told = [0; 1_024];
                let bytes = polite.read(&mut told).unwrap();
                assert!(told[..bytes].starts_with(answer.as_bytes()), "{:?}", told[..bytes].escape_ascii());
                begun.elapsed()
            })
            .collect();
        let between = answered_bytes.load(Ordering::Relaxed) - before;
        is_over.store(true, Ordering::Relaxed);
        assert!(between > 100_000, "the greedy ones were busy meanwhile: {between} bytes");
        times
    });
    times.sort();
    times[QUESTIONS * 99 / 100]
}

#[test]
fn a_polite_client_is_answered_in_time_beside_greedy_ones_on_one_thread() {
    let server = Server::on_one_thread();
    let throttles = b"*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n9\r\n$1\r\n1\r\n$1\r\n1\r\n".repeat(1_000);
    let p99 = polite_p99(&server, server.resp, &throttles, b"PING\r\n", "+PONG");
    assert!(p99 < POLITE_P99_MAX, "99 of 100 questions took up to {p99:?}");
}

/// A batch takes its time: its text is read in one piece, whatever else waits.
#[test]
fn a_polite_client_of_any_door_is_answered_in_time_beside_greedy_batches_on_one_thread() {
    let server = Server::on_one_thread();
    let check = r#"{"key": "a", "rate": 1, "burst": 1, "cost": 2}"#;
    let batch = format!("{{\"checks\": [{}]}}", vec![check; 1_000].join(","));
    let post = |path: &str, body: &str| {
        format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let (batches, question) = (post("/v1/check/batch", &batch), post("/v1/check", check));
    for (question, answer) in [(question.as_bytes(), "HTTP/1.1 429 "), (b"PING\r\n", "+PONG")] {
        let p99 = polite_p99(&server, server.http, batches.as_bytes(), question, answer);
        assert!(p99 < POLITE_P99_MAX, "99 of 100 questions took up to {p99:?}");
    }
}
