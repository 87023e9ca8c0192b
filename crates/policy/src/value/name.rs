//! The name of a query parameter or a cookie, as servers spell it.

use crate::path::{meant, without_blanks};

/// Whether some server takes this name, perhaps percent-encoded, for `name`.
///
/// ```text
///  %6b  +k  k%20  k%a0    decoded, without white space and control characters around it
///  K                      case ignored                  ASP.NET
///  k%00x  k[]  k[0]       cut at a NUL byte or a `[`    PHP
///  a.b  a%20b  a[b        `a_b`                         PHP
/// ```
pub(super) fn is_spelling_of(spelled: &[u8], name: &str) -> bool {
    let mut rest = without_spaces(spelled);
    for byte in name.bytes() {
        let (sent, len) = if let [b'+', ..] = rest { (b' ', 1) } else { meant(rest) };
        let is_underscore = byte == b'_' && matches!(sent, b'.' | b' ' | b'[');
        if !sent.eq_ignore_ascii_case(&byte) && !is_underscore {
            return false;
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    // The NUL byte also stands for the end.
    matches!(meant(without_spaces(rest)).0, 0 | b'[')
}

/// The rest of a name after white space, `+` for a space, and control characters, or at a NUL byte.
fn without_spaces(name: &[u8]) -> &[u8] {
    let mut rest = without_blanks(name);
    while let [b'+', after @ ..] = rest {
        rest = without_blanks(after);
    }
    rest
}
