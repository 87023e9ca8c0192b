//! The application behind the proxy: says what it was asked, and counts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// To this path it gives no answer.
pub(crate) const BROKEN: &str = "/broken";

/// A small HTTP server, one thread per connection, one request per connection.
pub(crate) struct Application {
    pub(crate) port: u16,
    asked: Arc<AtomicUsize>,
}

impl Application {
    /// It lives as long as the test program.
    pub(crate) fn start() -> Application {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || serve(stream, &counter));
            }
        });
        Application { port, asked }
    }

    /// How many requests have come.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Answers one request with its own request line, header fields and the length of its body. A client that goes away early is
/// no concern of ours.
fn serve(stream: TcpStream, asked: &AtomicUsize) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length, mut waits) = (Vec::new(), 0, false);
    loop {
        let begin = head.len();
        if stream.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&head[begin..]).trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        waits |= line == "expect: 100-continue";
    }
    asked.fetch_add(1, Ordering::SeqCst);
    let head = String::from_utf8_lossy(&head).into_owned();
    if waits {
        stream.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    if head.contains(BROKEN) {
        return None;
    }
    let sum: u64 = body.iter().map(|&byte| u64::from(byte)).sum();
    let text = format!("{}body of {length} bytes, sum {sum}\n", head.replace("\r\n", "\n"));
    let is_head = head.starts_with("HEAD ");
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
        text.len(),
        if is_head { "" } else { &text }
    );
    stream.get_mut().write_all(answer.as_bytes()).ok()
}
