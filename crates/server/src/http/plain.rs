//! A plain question of HTTP/1.1: one of the questions of the API, whole, with nothing about it that wants thought.
//!
//! Whatever is unusual in any way is none: another version, a length that is missing, doubled or not all there, a way to transfer or to
//! go on, a `Connection` that is not kept. That is for hyper, which knows all of HTTP/1; so nothing is decided here that two
//! readers of the same bytes could see differently.

use super::http1::is_host;
use super::route::Question;

/// Most header fields of a plain question.
const FIELDS_MAX: usize = 32;
/// Most digits of its length.
const LENGTH_DIGITS_MAX: usize = 6;

/// A question that was read.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    pub(super) question: Question,
    pub(super) body: &'a [u8],
    /// Whether 200 is to be answered whatever is decided.
    pub(super) always_200: bool,
    /// Its bytes, head and body.
    pub(super) bytes: usize,
}

/// The plain question that these bytes begin with, if they do.
pub(super) fn read(bytes: &[u8]) -> Option<Plain<'_>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else {
        return None;
    };
    if request.method != Some("POST") || request.version != Some(1) {
        return None;
    }
    let target = request.path?;
    let (path, always_200) = match target.split_once('?') {
        None => (target, false),
        Some((path, "status=200")) => (path, true),
        Some(_) => return None,
    };
    let question = Question::at(path)?;
    let length = length(request.headers)?;
    let body =
        bytes.get(head..head.checked_add(length)?).filter(|body| body.len() <= question.body_bytes_max())?;
    Some(Plain { question, body, always_200, bytes: head + length })
}

/// The length of the body, if the fields say it and nothing else of importance, and one host.
fn length(fields: &[httparse::Header<'_>]) -> Option<usize> {
    let (mut length, mut hosts) = (None, 0);
    for field in fields {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        // What is of importance is told apart by the length of its name, mostly.
        match field.name.len() {
            4 if is("host") && is_host(field.value) => hosts += 1,
            4 if is("host") => return None,
            14 if is("content-length") && length.is_some() => return None,
            14 if is("content-length") => length = Some(number(field.value)?),
            10 if is("connection") && !field.value.eq_ignore_ascii_case(b"keep-alive") => return None,
            17 if is("transfer-encoding") => return None,
            6 if is("expect") => return None,
            7 if is("upgrade") || is("trailer") => return None,
            _ => {}
        }
    }
    length.filter(|_| hosts == 1)
}

/// A number of digits alone.
fn number(digits: &[u8]) -> Option<usize> {
    if digits.len() > LENGTH_DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n";

    #[test]
    fn a_question_is_read_with_its_body_and_nothing_behind_it() {
        let bytes = format!("{PLAIN}{{ }} POST");
        let plain = read(bytes.as_bytes()).unwrap();
        assert_eq!((plain.body, plain.bytes, plain.always_200), (&b"{ } "[..], PLAIN.len() + 4, false));
        let asked = bytes.replace("/check", "/check?status=200");
        assert!(read(asked.as_bytes()).unwrap().always_200);
        for usual in [
            ("\r\nhost", "\r\nHost"),
            ("content-length", "Content-Length"),
            ("host: a", "host:\ta "),
            ("host: a", "host: a\r\nconnection: Keep-Alive"),
            ("host: a", "host: a\r\naccept: */*\r\nuser-agent: x\r\ncontent-type: application/json"),
            ("/v1/check", "/v1/check/batch"),
            ("/v1/check", "/v1/cancel"),
        ] {
            assert!(read(bytes.replace(usual.0, usual.1).as_bytes()).is_some(), "{usual:?}");
        }
    }

    #[test]
    fn one_that_is_not_all_there_is_none() {
        let bytes = format!("{PLAIN}{{ }} ");
        for end in 0..bytes.len() {
            assert!(read(&bytes.as_bytes()[..end]).is_none(), "{end}");
        }
        assert!(read(bytes.as_bytes()).is_some());
    }

    #[test]
    fn whatever_is_unusual_is_none() {
        for (usual, unusual) in [
            ("POST", "GET"),
            ("POST", "post"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("HTTP/1.1", "HTTP/2.0"),
            ("/v1/check", "/v1/checks"),
            ("/v1/check", "/v1/check/"),
            ("/v1/check", "/livez"),
            ("/v1/check", "http://a/v1/check"),
            ("/v1/check", "/v1/check?"),
            ("/v1/check", "/v1/check?status=201"),
            ("/v1/check", "/v1/check?status=200&a=b"),
            ("host: a\r\n", ""),
            ("host: a", "host: a\r\nhost: a"),
            ("host: a", "host : a"),
            ("host: a", "host: a b"),
            ("host: a", "host: a/.."),
            ("host: a", "host: a\r\n b"),
            ("host: a", "host: a\r\nb c: d"),
            ("host: a", "host: a\r\nexpect: 100-continue"),
            ("host: a", "host: a\r\nTransfer-Encoding: chunked"),
            ("host: a", "host: a\r\nTransfer-Encoding: identity"),
            ("host: a", "host: a\r\nconnection: close"),
            ("host: a", "host: a\r\nconnection: keep-alive, upgrade"),
            ("host: a", "host: a\r\nupgrade: h2c"),
            ("host: a", "host: a\r\ntrailer: b"),
            ("content-length: 4\r\n", ""),
            ("content-length: 4", "content-length: 4\r\ncontent-length: 4"),
            ("content-length: 4", "content-length: +4"),
            ("content-length: 4", "content-length: 4, 4"),
            ("content-length: 4", "content-length: 0x4"),
            ("content-length: 4", "content-length: "),
            ("content-length: 4", "content-length: 00000000000000000000004"),
            ("content-length: 4", "content-length: 18446744073709551620"),
            ("content-length: 4", "content-length: 5"),
        ] {
            let bytes = format!("{PLAIN}{{ }} ").replace(usual, unusual);
            assert!(read(bytes.as_bytes()).is_none(), "{bytes}");
        }
        let many = "a: b\r\n".repeat(FIELDS_MAX);
        assert!(read(PLAIN.replace("host", &format!("{many}host")).as_bytes()).is_none());
    }

    #[test]
    fn a_body_that_is_too_long_is_for_whoever_says_so() {
        let body = " ".repeat(65_537);
        let long = PLAIN.replace("length: 4", &format!("length: {}", body.len())) + &body;
        assert!(read(long.as_bytes()).is_none());
        assert!(read(long.replace("/check", "/check/batch").as_bytes()).is_some());
    }
}
