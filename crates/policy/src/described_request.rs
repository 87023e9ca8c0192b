//! A request as a person describes it: on a command line or in a file of cases. Owns what
//! [`crate::Facts`] borrows; [`DescribedRequest::seen_by`] says what a door makes of it.

use std::net::IpAddr;

use serde_json::Value;

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
