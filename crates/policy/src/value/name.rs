//! The name of a query parameter or a cookie, as servers spell it.

use crate::blank::is_blank;
use crate::path::{hex_value, meant, without_blanks};

/// Whether some server takes this name, perhaps percent-encoded, for `name`.
///
/// ```text
///  %6b  +k  k%20  k%a0    decoded, without white space and control characters around it
///  %u006b                 decoded                       ASP.NET
///  K                      case ignored                  ASP.NET
///  k%00x  k[]  k[0]       cut at a NUL byte or a `[`    PHP
///  [k]  k]                without brackets around it    Rack, qs
///  a.b  a%20b  a[b        `a_b`                         PHP
/// ```
pub(super) fn is_spelling_of(spelled: &[u8], name: &str) -> bool {
    let mut rest = start_of_name(spelled);
    for byte in name.bytes() {
        let (sent, len) = meant_in_name(rest);
        let is_underscore = byte == b'_' && matches!(sent, b'.' | b' ' | b'[');
        if !sent.eq_ignore_ascii_case(&byte) && !is_underscore {
            return false;
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    // The NUL byte also stands for the end.
    matches!(meant_in_name(without_spaces(rest)).0, 0 | b'[' | b']')
}

/// The rest of a name after white space, control characters and brackets, or at a NUL byte.
pub(super) fn start_of_name(name: &[u8]) -> &[u8] {
    let mut rest = without_spaces(name);
    while let (b'[' | b']', len) = meant_in_name(rest) {
        rest = without_spaces(rest.get(len..).unwrap_or_default());
    }
    rest
}

/// The rest of a name after white space, `+` for a space, and control characters, or at a NUL byte.
fn without_spaces(name: &[u8]) -> &[u8] {
    let mut rest = without_blanks(name);
    while let (sign @ 1.., len) = meant_in_name(rest)
        && is_blank(char::from(sign))
    {
        rest = without_blanks(rest.get(len..).unwrap_or_default());
    }
    rest
}

/// The byte that the rest of a name begins with, decoded, and its length as it is written. The end is a NUL byte of no
/// length.
fn meant_in_name(rest: &[u8]) -> (u8, usize) {
    match rest {
        [b'+', ..] => (b' ', 1),
        [b'%', b'u' | b'U', b'0', b'0', high, low, ..] => match (hex_value(*high), hex_value(*low)) {
            (Some(high @ ..8), Some(low)) => (high << 4 | low, 6),
            _ => (b'%', 1),
        },
        rest => meant(rest),
    }
}
