//! Base64 (RFC 4648), the plain alphabet without padding, as gRPC likes it in header fields whose names end in `-bin`.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn without_padding(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        // Two characters for one byte, three for two, four for three.
        for index in 0..=chunk.len() {
            let six = bits >> (18 - 6 * index) & 0x3f;
            text.push(char::from(ALPHABET[six as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc_hold() {
        let examples = [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in examples {
            assert_eq!(without_padding(plain.as_bytes()), encoded);
        }
        assert_eq!(without_padding(&[0xfb, 0xff, 0xbf]), "+/+/");
    }
}
