//! The token that a request brings, as it was sent.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Longest token, in bytes.
const TOKEN_BYTES_MAX: usize = 512;

/// A token that nobody has looked at. Never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::admin) struct Bearer<'h>(&'h str);

/// What a request says of who sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'h> {
    /// Nothing.
    Nothing,
    /// Something that is no token.
    Malformed,
    /// It has this token.
    Token(Bearer<'h>),
}

impl<'h> Bearer<'h> {
    pub(in crate::admin) fn as_str(self) -> &'h str {
        self.0
    }
}

/// Says that there is one, and no more.
impl fmt::Debug for Bearer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(…)")
    }
}

/// What the header fields say.
pub(super) fn read(headers: &HeaderMap) -> Said<'_> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let field = match (fields.next(), fields.next()) {
        (None, _) => return Said::Nothing,
        (Some(field), None) => field,
        (Some(_), Some(_)) => return Said::Malformed,
    };
    let Ok(text) = field.to_str() else { return Said::Malformed };
    let Some((scheme, token)) = text.split_once(' ') else { return Said::Malformed };
    let token = token.trim_matches(' ');
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let is_token = (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.bytes().all(is_of_token);
    if scheme.eq_ignore_ascii_case("bearer") && is_token {
        Said::Token(Bearer(token))
    } else {
        Said::Malformed
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn one_bearer_token_is_a_token_and_everything_else_is_not() {
        let said = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
            }
            match read(&headers) {
                Said::Nothing => "nothing".to_owned(),
                Said::Malformed => "malformed".to_owned(),
                Said::Token(token) => token.as_str().to_owned(),
            }
        };
        assert_eq!(said(&[]), "nothing");
        assert_eq!(said(&[b"Bearer tg_a_b"]), "tg_a_b");
        assert_eq!(said(&[b"bEARER   tg_a_b"]), "tg_a_b");
        let long = format!("Bearer {}", "a".repeat(TOKEN_BYTES_MAX + 1));
        for values in [
            &[&b""[..]][..],
            &[b"Bearer"],
            &[b"Bearer "],
            &[b"tg_a_b"],
            &[b"Basic dGdfYV9i"],
            &[b"Bearer tg_a_b, Basic x"],
            &[b"Bearer a b"],
            &[b"Bearer \xff"],
            &[b"Bearer a'; DROP TABLE tollgate_tokens; --"],
            &[b"Bearer a", b"Bearer a"],
            &[long.as_bytes()],
        ] {
            assert_eq!(said(values), "malformed", "{values:?}");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        assert_eq!(format!("{:?}", Said::Token(Bearer("tg_a_b"))), "Token(Bearer(…))");
    }
}
