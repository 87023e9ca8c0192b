//! A client of the RESP door that reads replies as JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Map, Value};

use crate::server::PATIENCE;

/// One connection.
pub(crate) struct RespClient(BufReader<TcpStream>);

impl RespClient {
    pub(crate) fn to(address: SocketAddr) -> RespClient {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        RespClient(BufReader::new(stream))
    }

    /// What a command is answered with: an error's text, or a value.
    pub(crate) fn ask<W: AsRef<str>>(&mut self, words: &[W]) -> Result<Value, String> {
        let sent = words.iter().map(AsRef::as_ref).fold(format!("*{}\r\n", words.len()), |sent, word| {
            sent + &format!("${}\r\n{word}\r\n", word.len())
        });
        self.0.get_mut().write_all(sent.as_bytes()).unwrap();
        self.reply()
    }

    fn reply(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let line = line.trim_end();
        let (kind, text) = line.split_at(1);
        let number = || text.parse::<i64>().unwrap();
        match kind {
            "+" => Ok(text.into()),
            "-" => Err(text.to_owned()),
            ":" => Ok(number().into()),
            "_" => Ok(Value::Null),
            "$" if number() < 0 => Ok(Value::Null),
            "$" => {
                let mut bytes = vec![0; usize::try_from(number()).unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                Ok(String::from_utf8(bytes).unwrap().into())
            }
            "*" => (0..number()).map(|_| self.reply()).collect::<Result<Vec<_>, _>>().map(Value::from),
            "%" => {
                let mut map = Map::new();
                for _ in 0..number() {
                    let name = self.reply()?.as_str().unwrap().to_owned();
                    map.insert(name, self.reply()?);
                }
                Ok(map.into())
            }
            _ => panic!("{line:?}"),
        }
    }
}
