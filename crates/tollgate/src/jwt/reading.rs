//! From header fields to claims.

use serde_json::Value;
use tollgate_policy::{Claims, Headers, has_other_spelling};

use super::{TokenFault, Verifier, decode_unverified};

/// What a token says, and who says that it is genuine; kept by the door while [`Facts`](tollgate_policy::Facts) borrow it.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenClaims {
    /// There was no token.
    None,
    /// Its signature was verified here.
    Verified(Value),
    /// It was only decoded.
    Unverified(Value),
}

impl TokenClaims {
    /// As a request's facts have it.
    pub fn as_claims(&self) -> Claims<'_> {
        match self {
            TokenClaims::None => Claims::None,
            TokenClaims::Verified(claims) => Claims::Verified(claims),
            TokenClaims::Unverified(claims) => Claims::Unverified(claims),
        }
    }
}

impl Verifier {
    /// The verified claims of a request's token. A fault means [`Claims::None`] to the rules, and is worth a count.
    pub fn read(&self, headers: &dyn Headers, unix_s: u64) -> Result<TokenClaims, TokenFault> {
        match token_in(self.header(), headers) {
            None => Ok(TokenClaims::None),
            Some(token) => self.verify(token, unix_s).map(TokenClaims::Verified),
        }
    }
}

/// The claims of a request's token by its own account, for policies without keys whose rules trust someone upstream.
pub fn read_unverified(header: &str, headers: &dyn Headers) -> Result<TokenClaims, TokenFault> {
    match token_in(header, headers) {
        None => Ok(TokenClaims::None),
        Some(token) => decode_unverified(token).map(TokenClaims::Unverified),
    }
}

/// The token in the header field: in `authorization` after `Bearer`, in any case; in another field also without it. `None` if
/// the field is missing, occurs twice, also as `X_Token` for `X-Token`, or holds something else.
pub fn token_in<'h>(header: &str, headers: &'h dyn Headers) -> Option<&'h str> {
    if has_other_spelling(headers, header) {
        return None;
    }
    let value = headers.get(header)?.trim_matches([' ', '\t']);
    let bearer = match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Some(token.trim_start_matches(' ')),
        _ => None,
    };
    let is_bare = !header.eq_ignore_ascii_case("authorization") && !value.contains(' ');
    bearer.or_else(|| is_bare.then_some(value)).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwt::mint::Field;

    #[track_caller]
    fn check(header: &str, value: &str, expected: Option<&str>) {
        assert_eq!(token_in(header, &Field(header, value)), expected, "{header}: {value}");
    }

    #[test]
    fn a_token_stands_after_bearer_in_any_case() {
        for value in ["Bearer a.b.c", "bearer a.b.c", "BEARER   a.b.c ", " bEaReR a.b.c"] {
            check("authorization", value, Some("a.b.c"));
            check("x-token", value, Some("a.b.c"));
        }
        check("x-token", "a.b.c", Some("a.b.c"));
    }

    #[test]
    fn anything_else_is_no_token() {
        for value in ["", "Bearer", "Bearer ", "a.b.c", "Basic a.b.c", "Bearera.b.c", "Bearer\ta.b.c"] {
            check("authorization", value, None);
        }
        let fields = |names: [&str; 2]| names.map(|name| (name.to_owned(), "a.b.c".to_owned())).to_vec();
        assert_eq!(token_in("x-token", &fields(["x-token", "X_Token"])), None, "two fields to CGI");
        assert_eq!(token_in("x-token", &fields(["x-token", "x-tokens"])), Some("a.b.c"));
        check("x-token", "Basic a.b.c", None);
        check("x-token", "", None);
    }
}
