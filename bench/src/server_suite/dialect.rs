//! How a subject is asked, and how its replies are told apart.
//!
//! A dialect writes whole requests and counts whole replies; it holds no socket and no clock.

use std::io::Write as _;

use crate::splitmix::SplitMix;

/// Every key may spend two, and gains one in ten minutes: whoever comes a third time is denied.
const BURST: u32 = 2;
const PERIOD_S: u32 = 600;

/// What the buckets of one check are called.
const BUCKETS: [&str; 4] = ["user", "address", "endpoint", "everything"];

/// How one kind of server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `PING`: what protocol and generator cost by themselves.
    Ping,
    /// `CL.THROTTLE`, as redis-cell has it.
    Throttle,
    /// throttlecrab's own `THROTTLE`, whose burst is the whole one and whose 1 means admitted.
    CrabThrottle,
    /// The token bucket that people write in Lua, loaded under this name.
    Script { sha: String },
    /// The same for one check of several buckets, one call for each: of how many each is drawn; 0 where there is no such bucket.
    Buckets { sha: String, spread: [u32; 4] },
    /// `POST /v1/check` with an explicit bucket.
    HttpCheck,
    /// `POST /v1/check` with the facts of a request: the policy decides.
    HttpFacts,
    /// throttlecrab's own `POST /throttle`.
    HttpThrottle,
}

/// What one reply says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Admitted,
    Denied,
    Error,
}

impl Dialect {
    /// Adds one request for a random one of `keys`.
    pub(crate) fn write(&self, keys: u32, random: &mut SplitMix, out: &mut Vec<u8>) {
        if *self == Dialect::Ping {
            out.extend_from_slice(b"*1\r\n$4\r\nPING\r\n");
            return;
        }
        if let Dialect::Buckets { sha, spread } = self {
            for (name, count) in BUCKETS.iter().zip(spread).filter(|(_, count)| **count > 0) {
                let key = format_args!("{name}:{:06}", random.below(*count));
                let written = write!(
                    out,
                    "*6\r\n$7\r\nEVALSHA\r\n$40\r\n{sha}\r\n$1\r\n1\r\n${}\r\n{key}\r\n$9\r\n100000000\r\n$6\r\n1.6667\r\n",
                    name.len() + 7
                );
                written.expect("a vector takes everything");
            }
            return;
        }
        self.write_key(random.below(keys), out);
    }

    /// Adds a request for the bucket of the n-th key.
    pub(crate) fn write_key(&self, number: u32, out: &mut Vec<u8>) {
        // Seven digits each, so that all requests have one length.
        let key = format_args!("user:{number:07}");
        let written = match self {
            // Only ever written at random.
            Dialect::Buckets { .. } => Ok(()),
            Dialect::Ping => out.write_all(b"*1\r\n$4\r\nPING\r\n"),
            Dialect::Throttle => write!(
                out,
                "*5\r\n$11\r\nCL.THROTTLE\r\n$12\r\n{key}\r\n$1\r\n{}\r\n$1\r\n1\r\n$3\r\n{PERIOD_S}\r\n",
                BURST - 1
            ),
            Dialect::CrabThrottle => write!(
                out,
                "*5\r\n$8\r\nTHROTTLE\r\n$12\r\n{key}\r\n$1\r\n{BURST}\r\n$1\r\n1\r\n$3\r\n{PERIOD_S}\r\n"
            ),
            Dialect::Script { sha } => write!(
                out,
                "*5\r\n$7\r\nEVALSHA\r\n$40\r\n{sha}\r\n$1\r\n1\r\n$12\r\n{key}\r\n$1\r\n{BURST}\r\n"
            ),
            Dialect::HttpCheck => {
                let rate = f64::from(1_000_000 / PERIOD_S) / 1e6;
                http(out, "/v1/check", &format!(r#"{{"key":"{key}","rate":{rate:.6},"burst":{BURST}}}"#))
            }
            Dialect::HttpFacts => {
                let [_, a, b, c] = number.to_be_bytes();
                http(out, "/v1/check", &format!(r#"{{"method":"GET","path":"/","ip":"10.{a}.{b}.{c}"}}"#))
            }
            Dialect::HttpThrottle => {
                let body = format!(
                    r#"{{"key":"{key}","max_burst":{BURST},"count_per_period":1,"period":{PERIOD_S},"quantity":1}}"#
                );
                http(out, "/throttle", &body)
            }
        };
        written.expect("a vector takes everything");
    }

    /// The length of the first whole reply, and what it says; `None` if it is not all there.
    pub(crate) fn read(&self, bytes: &[u8]) -> Option<(usize, Reply)> {
        match self {
            Dialect::Ping | Dialect::Throttle | Dialect::Script { .. } => read_resp(bytes, b'1'),
            Dialect::CrabThrottle => read_resp(bytes, b'0'),
            Dialect::Buckets { spread, .. } => {
                let (mut end, mut all) = (0, Reply::Admitted);
                for _ in spread.iter().filter(|count| **count > 0) {
                    let (length, one) = read_resp(&bytes[end..], b'1')?;
                    end += length;
                    all = if one == Reply::Admitted { all } else { one };
                }
                Some((end, all))
            }
            Dialect::HttpCheck | Dialect::HttpFacts => read_http(bytes, |status, _| match status {
                200 => Reply::Admitted,
                429 => Reply::Denied,
                _ => Reply::Error,
            }),
            Dialect::HttpThrottle => read_http(bytes, |status, body| {
                let says = |word: &[u8]| body.windows(word.len()).any(|window| window == word);
                match status {
                    200 if says(br#""allowed":true"#) => Reply::Admitted,
                    200 if says(br#""allowed":false"#) => Reply::Denied,
                    _ => Reply::Error,
                }
            }),
        }
    }
}

fn http(out: &mut Vec<u8>, path: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        out,
        "POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// One line, or an array of integers, the first of which begins with `denied` if it is so.
fn read_resp(bytes: &[u8], denied: u8) -> Option<(usize, Reply)> {
    let first = line_end(bytes, 0)?;
    match bytes.first()? {
        b'*' => {
            let count = usize::from(bytes.get(1)?.wrapping_sub(b'0'));
            let (mut end, mut reply) = (first, Reply::Error);
            for index in 0..count {
                if index == 0 {
                    reply = if bytes.get(end + 1) == Some(&denied) { Reply::Denied } else { Reply::Admitted };
                }
                end = line_end(bytes, end)?;
            }
            Some((end, reply))
        }
        b'+' | b':' => Some((first, Reply::Admitted)),
        _ => Some((first, Reply::Error)),
    }
}

/// Where the line that begins at `from` has ended.
fn line_end(bytes: &[u8], from: usize) -> Option<usize> {
    bytes.get(from..)?.iter().position(|byte| *byte == b'\n').map(|at| from + at + 1)
}

fn read_http(bytes: &[u8], says: impl FnOnce(u16, &[u8]) -> Reply) -> Option<(usize, Reply)> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let status = text.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let length: usize = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    let body = bytes.get(head..head + length)?;
    Some((head + length, says(status, body)))
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Reply};

    #[test]
    fn replies_are_counted_when_they_are_whole_and_not_before() {
        let script = Dialect::Script { sha: "0".repeat(40) };
        let http = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\n{}".as_slice();
        let crab = b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"allowed\":false}".as_slice();
        for (dialect, bytes, expected) in [
            (&Dialect::Ping, b"+PONG\r\n".as_slice(), Reply::Admitted),
            (&Dialect::Ping, b"-ERR no\r\n", Reply::Error),
            (&Dialect::Throttle, b"*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:600\r\n", Reply::Admitted),
            (&Dialect::Throttle, b"*5\r\n:1\r\n:2\r\n:0\r\n:600\r\n:900\r\n", Reply::Denied),
            (&Dialect::CrabThrottle, b"*5\r\n:1\r\n:2\r\n:1\r\n:600\r\n:0\r\n", Reply::Admitted),
            (&Dialect::CrabThrottle, b"*5\r\n:0\r\n:2\r\n:0\r\n:1199\r\n:599\r\n", Reply::Denied),
            (&script, b"*2\r\n:1\r\n:0\r\n", Reply::Denied),
            (&Dialect::HttpCheck, http, Reply::Denied),
            (&Dialect::HttpThrottle, crab, Reply::Denied),
        ] {
            for cut in 0..bytes.len() {
                assert_eq!(dialect.read(&bytes[..cut]), None, "{dialect:?} {cut}");
            }
            assert_eq!(
                dialect.read(&[bytes, b"more"].concat()),
                Some((bytes.len(), expected)),
                "{dialect:?}"
            );
        }
    }

    #[test]
    fn requests_of_one_dialect_have_one_length() {
        for dialect in [Dialect::Throttle, Dialect::CrabThrottle, Dialect::HttpCheck, Dialect::HttpThrottle] {
            let length = |number| {
                let mut out = Vec::new();
                dialect.write_key(number, &mut out);
                out.len()
            };
            assert_eq!(length(0), length(999_999), "{dialect:?}");
        }
    }
}
