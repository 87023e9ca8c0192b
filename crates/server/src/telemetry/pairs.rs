//! Lists such as `name=value,other=value`, in which both may be percent-encoded.

use percent_encoding::percent_decode_str;

/// Most pairs of a list; further ones are passed over.
const PAIRS_MAX: usize = 64;
/// Longest value, in bytes.
const VALUE_BYTES_MAX: usize = 4 * 1_024;

/// The pairs, and how many entries of the list are none.
pub(super) fn read(list: &str) -> (Vec<(String, String)>, usize) {
    let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let (mut pairs, mut bad) = (Vec::new(), 0);
    for entry in entries {
        match pair(entry) {
            Some(pair) if pairs.len() < PAIRS_MAX => pairs.push(pair),
            _ => bad += 1,
        }
    }
    (pairs, bad)
}

fn pair(entry: &str) -> Option<(String, String)> {
    let (name, value) = entry.split_once('=')?;
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8().ok().map(String::from);
    let (name, value) = (decoded(name)?, decoded(value)?);
    (!name.is_empty() && name.len() <= VALUE_BYTES_MAX && value.len() <= VALUE_BYTES_MAX)
        .then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_and_what_is_none_is_counted() {
        let (pairs, bad) = read("api-key=a%2Cb%3D, x = Basic%20dTpw==,,novalue,=none,bad=%ff");
        let expected = [("api-key", "a,b="), ("x", "Basic dTpw==")];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(bad, 3);
        assert_eq!(read(&"a=b,".repeat(100)).1, 100 - PAIRS_MAX);
        assert_eq!(read(&format!("a={}", "x".repeat(VALUE_BYTES_MAX + 1))), (Vec::new(), 1));
    }
}
