//! A blocking client of the Redis protocol, as plain as a test needs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use tollgate_redis::Reply;

/// Longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection.
pub(crate) struct Connection {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Connection {
    pub(crate) fn open(path: &Path) -> std::io::Result<Connection> {
        let writer = UnixStream::connect(path)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        Ok(Connection { reader: BufReader::new(writer.try_clone()?), writer })
    }

    /// Sends words as one command, and reads the reply.
    pub(crate) fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Reply {
        self.send(words);
        self.read()
    }

    /// A command that is typed, with its words between blanks.
    pub(crate) fn typed(&mut self, line: &str) -> Reply {
        self.ask(&line.split(' ').collect::<Vec<_>>())
    }

    /// Sends words as one command, without waiting for the reply.
    pub(crate) fn send<W: AsRef<[u8]>>(&mut self, words: &[W]) {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        self.writer.write_all(&bytes).unwrap();
    }

    pub(crate) fn read(&mut self) -> Reply {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let line = line.trim_end();
        assert!(!line.is_empty(), "the server closed the connection");
        let rest = &line[1..];
        match line.as_bytes()[0] {
            b':' => Reply::Integer(rest.parse().unwrap()),
            b'+' => Reply::Bytes(rest.as_bytes().to_vec()),
            b'-' => Reply::Error(rest.to_owned()),
            b'$' | b'*' if rest == "-1" => Reply::Nothing,
            b'$' => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.reader.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                Reply::Bytes(bytes)
            }
            b'*' => Reply::List((0..rest.parse::<usize>().unwrap()).map(|_| self.read()).collect()),
            other => panic!("{} is no reply", char::from(other)),
        }
    }
}
