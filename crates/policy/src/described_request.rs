//! A request as a person describes it: on a command line or in a file of cases. Owns what
//! [`crate::Facts`] borrows; [`DescribedRequest::seen_by`] says what a door makes of it.

use std::fmt;
use std::net::IpAddr;

use serde_json::Value;

/// Longest method, in bytes.
const METHOD_BYTES_MAX: usize = 64;

/// A request that nobody sent. What is not described is as in a bare `GET /`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedRequest {
    /// In upper case.
    pub method: String,
    /// The path, with the query if there is one.
    pub target: String,
    /// Empty if it is not described.
    pub host: String,
    /// The client's address, as a door would have found it.
    pub address: Option<IpAddr>,
    /// The socket's peer, from which a door finds the client's address.
    pub peer: Option<IpAddr>,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Whom somebody trustworthy has authenticated.
    pub user: Option<String>,
    /// What that one has paid for.
    pub plan: Option<String>,
    /// What its token says.
    pub claims: Option<Value>,
    /// Whether the token's signature was verified.
    pub claims_are_verified: bool,
    /// The template of the route that would serve it.
    pub route: Option<String>,
    /// `HTTP/1.1`.
    pub version: String,
    /// Length of the body.
    pub body_bytes: Option<u64>,
}

/// A text that no request can have as its method. Whoever says so names the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMethod;

/// The cure.
impl fmt::Display for NoMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write the name of a method, of 1 to {METHOD_BYTES_MAX} letters, as in `GET` or `POST`")
    }
}

impl std::error::Error for NoMethod {}

impl Default for DescribedRequest {
    fn default() -> Self {
        DescribedRequest {
            method: "GET".to_owned(),
            target: "/".to_owned(),
            host: String::new(),
            address: None,
            peer: None,
            headers: Vec::new(),
            user: None,
            plan: None,
            claims: None,
            claims_are_verified: true,
            route: None,
            version: "HTTP/1.1".to_owned(),
            body_bytes: None,
        }
    }
}

impl DescribedRequest {
    /// A method that somebody typed, in upper case: a token of RFC 9110, of at most 64 bytes.
    pub fn method_named(text: &str) -> Result<String, NoMethod> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_method = (1..=METHOD_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_token);
        if is_method { Ok(text.to_ascii_uppercase()) } else { Err(NoMethod) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_token_is_no_method() {
        assert_eq!(DescribedRequest::method_named("post").as_deref(), Ok("POST"));
        assert_eq!(DescribedRequest::method_named("M-Search").as_deref(), Ok("M-SEARCH"));
        for text in ["", " ", "GET ", "GE T", "GET\r\n", "G\u{e9}T", &"A".repeat(65)] {
            assert_eq!(DescribedRequest::method_named(text), Err(NoMethod), "{text:?}");
        }
    }
}
