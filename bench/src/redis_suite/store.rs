//! The Redis of a case: what it holds and how much it works, by its own words.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::TcpStream;

use crate::problem::Problem;
use crate::server_suite::Server;

/// A Redis on the servers' core, empty at first.
pub(crate) struct Store {
    server: Server,
    line: BufReader<TcpStream>,
}

impl Store {
    /// Starts one.
    pub(crate) fn start() -> Result<Store, Problem> {
        let server = Server::redis_of_tools()?;
        let stream = TcpStream::connect(server.resp).map_err(|error| failed(&error))?;
        Ok(Store { server, line: BufReader::new(stream) })
    }

    /// As a ledger is told where it is.
    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.server.resp)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.server.resp
    }

    /// Loads a script; its digest.
    pub(crate) fn load(&mut self, script: &str) -> Result<String, Problem> {
        self.ask(&["SCRIPT", "LOAD", script])
    }

    /// Bytes in use.
    pub(crate) fn used_bytes(&mut self) -> Result<f64, Problem> {
        self.info("memory", "used_memory:")
    }

    /// Seconds that it has worked so far.
    pub(crate) fn worked_s(&mut self) -> Result<f64, Problem> {
        let user = self.info("cpu", "used_cpu_user:")?;
        Ok(user + self.info("cpu", "used_cpu_sys:")?)
    }

    fn info(&mut self, section: &str, field: &str) -> Result<f64, Problem> {
        let text = self.ask(&["INFO", section])?;
        let value = text.lines().find_map(|line| line.strip_prefix(field));
        value
            .and_then(|value| value.trim().parse().ok())
            .ok_or_else(|| Problem::failed(format!("redis does not say `{field}`")))
    }

    /// One command, whose reply is one string.
    fn ask(&mut self, words: &[&str]) -> Result<String, Problem> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            let _ = write!(command, "${}\r\n{word}\r\n", word.len());
        }
        let asked = Write::write_all(self.line.get_mut(), command.as_bytes());
        asked.map_err(|error| failed(&error))?;
        let mut head = String::new();
        self.line.read_line(&mut head).map_err(|error| failed(&error))?;
        let length = head.trim_end().strip_prefix('$').and_then(|length| length.parse::<usize>().ok());
        let length =
            length.ok_or_else(|| Problem::failed(format!("redis answers {} with {head}", words[0])))?;
        let mut text = vec![0; length + 2];
        self.line.read_exact(&mut text).map_err(|error| failed(&error))?;
        text.truncate(length);
        String::from_utf8(text).map_err(|_| Problem::failed("redis answers with bytes that are no text"))
    }
}

fn failed(error: &std::io::Error) -> Problem {
    Problem::failed(format!("redis does not answer: {error}"))
}
