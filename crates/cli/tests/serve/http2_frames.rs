//! Frames of HTTP/2 by hand, for what no honest client sends.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::server::PATIENCE;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// The other end does too much of something.
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

/// One frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The head of `GET /livez` as HPACK has it.
pub(crate) fn livez() -> Vec<u8> {
    [&[0x82, 0x86, 0x04, 6][..], b"/livez", &[0x01, 4], b"test"].concat()
}

/// The head of `POST /v1/check`.
pub(crate) fn post() -> Vec<u8> {
    [&[0x83, 0x86, 0x04, 9][..], b"/v1/check", &[0x01, 4], b"test"].concat()
}

/// A connection on which anything may be sent.
pub(crate) struct Frames(pub(crate) TcpStream);

impl Frames {
    /// After preface and settings.
    pub(crate) fn to(address: SocketAddr) -> Frames {
        let mut frames = Frames(TcpStream::connect(address).unwrap());
        frames.0.set_read_timeout(Some(PATIENCE)).unwrap();
        frames.0.set_nodelay(true).unwrap();
        frames.send(PREFACE);
        frames.send(&frame(SETTINGS, 0, 0, &[]));
        frames
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The next frame: its kind, stream and payload; none if the connection has ended.
    pub(crate) fn next(&mut self) -> Option<(u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        if let Err(error) = self.0.read_exact(&mut head) {
            let is_end = matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset);
            assert!(is_end, "{error}");
            return None;
        }
        let [high, middle, low, kind, _flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some((kind, u32::from_be_bytes(stream), payload))
    }

    /// The reason of the goodbye that ends the connection, if there is one.
    pub(crate) fn goodbye(&mut self) -> Option<u32> {
        let mut reason = None;
        while let Some((kind, _, payload)) = self.next() {
            if kind == GOAWAY {
                reason = Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
            }
        }
        reason
    }
}
