//! Replies, byte by byte, in RESP2 or RESP3. It knows no command.

use super::number;

/// Which version of the protocol a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Protocol {
    /// As long as nobody says `HELLO 3`.
    #[default]
    Resp2,
    /// With maps, sets, a null of its own and text that says it is text.
    Resp3,
}

/// Appends `-` and the parts; line ends in them become spaces, so that a reply stays one line.
pub(super) fn error(output: &mut Vec<u8>, parts: &[&[u8]]) {
    output.push(b'-');
    for part in parts {
        output.extend(part.iter().map(|&byte| if byte == b'\r' || byte == b'\n' { b' ' } else { byte }));
    }
    output.extend_from_slice(b"\r\n");
}

/// Appends a short text that needs no length, such as `+OK`. `text` has no line end.
pub(super) fn simple(output: &mut Vec<u8>, text: &str) {
    output.push(b'+');
    output.extend_from_slice(text.as_bytes());
    output.extend_from_slice(b"\r\n");
}

/// Appends a whole number. Nearly all of them are short.
#[inline]
pub(super) fn integer(output: &mut Vec<u8>, value: i64) {
    match u8::try_from(value) {
        Ok(ones @ 0..=9) => output.extend_from_slice(&[b':', b'0' + ones, b'\r', b'\n']),
        Ok(both @ 10..=99) => {
            output.extend_from_slice(&[b':', b'0' + both / 10, b'0' + both % 10, b'\r', b'\n']);
        }
        Err(_) if value == -1 => output.extend_from_slice(b":-1\r\n"),
        _ => head(output, b':', value),
    }
}

/// Appends any bytes.
pub(super) fn bulk(output: &mut Vec<u8>, bytes: &[u8]) {
    head(output, b'$', length(bytes.len()));
    output.extend_from_slice(bytes);
    output.extend_from_slice(b"\r\n");
}

/// Appends the head of an array of `count` replies, which must follow.
pub(super) fn array(output: &mut Vec<u8>, count: usize) {
    head(output, b'*', length(count));
}

impl Protocol {
    /// Appends the head of a map of `pairs` keys and values, which must follow in turn.
    pub(super) fn map(self, output: &mut Vec<u8>, pairs: usize) {
        match self {
            Protocol::Resp2 => array(output, pairs * 2),
            Protocol::Resp3 => head(output, b'%', length(pairs)),
        }
    }

    /// Appends the head of a set of `count` replies, which must follow.
    pub(super) fn set(self, output: &mut Vec<u8>, count: usize) {
        match self {
            Protocol::Resp2 => array(output, count),
            Protocol::Resp3 => head(output, b'~', length(count)),
        }
    }

    /// Appends "there is none".
    pub(super) fn null(self, output: &mut Vec<u8>) {
        output.extend_from_slice(match self {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// Appends text for people.
    pub(super) fn text(self, output: &mut Vec<u8>, text: &str) {
        if self == Protocol::Resp2 {
            return bulk(output, text.as_bytes());
        }
        head(output, b'=', length(text.len() + 4));
        output.extend_from_slice(b"txt:");
        output.extend_from_slice(text.as_bytes());
        output.extend_from_slice(b"\r\n");
    }

    /// The number that a client calls it by.
    pub(super) fn number(self) -> i64 {
        match self {
            Protocol::Resp2 => 2,
            Protocol::Resp3 => 3,
        }
    }
}

fn head(output: &mut Vec<u8>, kind: u8, value: i64) {
    output.push(kind);
    number::write(value, output);
    output.extend_from_slice(b"\r\n");
}

fn length(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut output = Vec::new();
        write(&mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn an_error_stays_one_line_whatever_is_in_it() {
        assert_eq!(written(|o| error(o, &[b"ERR '", b"a\r\nb\n", b"'"])), "-ERR 'a  b '\r\n");
    }

    #[test]
    fn the_third_protocol_has_kinds_of_its_own() {
        let all = |protocol: Protocol| {
            written(|output| {
                protocol.map(output, 1);
                protocol.set(output, 2);
                protocol.null(output);
                protocol.text(output, "hi");
            })
        };
        assert_eq!(all(Protocol::Resp2), "*2\r\n*2\r\n$-1\r\n$2\r\nhi\r\n");
        assert_eq!(all(Protocol::Resp3), "%1\r\n~2\r\n_\r\n=6\r\ntxt:hi\r\n");
    }
}
