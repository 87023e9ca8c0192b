//! A client that sends what it is told, byte by byte if need be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::server::PATIENCE;

/// One connection.
pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { stream: BufReader::new(stream) }
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Answer {
        self.send(format!(
            "POST {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        self.answer()
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path, &[])
    }

    /// A request without a body.
    pub(crate) fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n");
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        self.send(head + "\r\n");
        self.answer()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// The next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.maybe_answer().unwrap_or_else(|| panic!("the connection ended without an answer"))
    }

    /// The next answer; none if the connection ends first.
    pub(crate) fn maybe_answer(&mut self) -> Option<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.trim().parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let mut answer = Answer { status, headers, body: String::new() };
        let length: u64 = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        (&mut self.stream).take(length).read_to_string(&mut answer.body).ok()?;
        Some(answer)
    }

    /// Whether the other side has closed it.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        loop {
            match self.stream.read(&mut byte) {
                Ok(0) => return true,
                Ok(_) => panic!("{:?} came", byte.escape_ascii().to_string()),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return true,
                // Whoever stops and continues the tests interrupts whoever waits.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status and the field that is at fault, of a problem document.
    #[track_caller]
    pub(crate) fn fault(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status, "{self:?}");
        (self.status, json["field"].as_str().unwrap_or_default().to_owned())
    }
}
