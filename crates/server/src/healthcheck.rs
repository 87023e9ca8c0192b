//! Whether a server that runs elsewhere is ready: asks its `/readyz`, as an orchestrator would.
//!
//! Promises an answer within [`PATIENCE`]. Does not know HTTP beyond the status of one answer.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::address::Address;
use crate::door::Door;
use crate::settings::Settings;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 * 1_024;
/// Most of an answer that is shown, in characters.
const SHOWN_CHARS_MAX: usize = 300;

/// Why a server is not known to be ready.
#[derive(Debug)]
#[non_exhaustive]
pub enum HealthError {
    /// No door that tells.
    NoDoor,
    /// Which port it is was not said.
    AnyPort(Door),
    /// It did not answer.
    Silent {
        /// The door that was asked.
        door: Door,
        /// Where it was looked for.
        address: Address,
        /// What went wrong.
        error: io::Error,
    },
    /// It answered that it is not.
    Unready {
        /// The door that was asked.
        door: Door,
        /// The first line and the body of the answer, or what there is room for.
        answer: String,
    },
}

/// Asks the server that has these settings whether it is ready: at the admin door, else the metrics door, else the HTTP door. The
/// answer is what `/readyz` says.
pub fn healthcheck(settings: &Settings) -> Result<String, HealthError> {
    let doors =
        [(Door::Admin, &settings.admin), (Door::Metrics, &settings.metrics), (Door::Http, &settings.http)];
    let open = doors.into_iter().find(|(_, address)| **address != Address::Off);
    let (door, address) = open.ok_or(HealthError::NoDoor)?;
    if matches!(address, Address::Tcp { port: 0, .. }) {
        return Err(HealthError::AnyPort(door));
    }
    let silent = |error| HealthError::Silent { door, address: address.clone(), error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(silent)?;
    let late =
        || io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", PATIENCE.as_secs()));
    let asked = async { tokio::time::timeout(PATIENCE, ask(address)).await.unwrap_or_else(|_| Err(late())) };
    let answer = runtime.block_on(asked);
    // Looking up a name may still be under way.
    runtime.shutdown_background();
    let answer = answer.map_err(silent)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    if status.starts_with("HTTP/1.1 200 ") {
        Ok(body.to_owned())
    } else {
        let answer = format!("{status} {body}");
        Err(HealthError::Unready { door, answer: answer.trim().chars().take(SHOWN_CHARS_MAX).collect() })
    }
}

async fn ask(address: &Address) -> io::Result<String> {
    match address {
        Address::Tcp { host, port } => ask_on(TcpStream::connect((reachable(host), *port)).await?).await,
        Address::Unix(path) => ask_on(UnixStream::connect(path).await?).await,
        Address::Off => Err(io::ErrorKind::NotConnected.into()),
    }
}

/// Where one who listens on all addresses can be found from the same machine.
fn reachable(host: &str) -> &str {
    match host {
        "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        host => host,
    }
}

async fn ask_on(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<String> {
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

impl fmt::Display for HealthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HealthError::NoDoor => f.write_str(
                "no door to ask: admin, metrics and http are off; open one, as in --admin 127.0.0.1:8082",
            ),
            HealthError::AnyPort(door) => {
                write!(
                    f,
                    "--{door} has port 0, so where the server is cannot be known; give it the port that the server printed"
                )
            }
            HealthError::Silent { door, address, error } => {
                write!(
                    f,
                    "no answer from the {door} door at {address}: {error}; is the server running, with the same settings?"
                )
            }
            HealthError::Unready { door, answer } => write!(f, "not ready, says the {door} door: {answer}"),
        }
    }
}

impl std::error::Error for HealthError {}
