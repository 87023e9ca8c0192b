//! What is known of a request.

use std::net::IpAddr;

use serde_json::Value;
use tollgate_core::Cost;

/// A request as a door sees it. Borrowed: a check copies nothing of it.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// In upper case, as on the wire.
    pub method: &'a str,
    /// As on the wire, with the query if there is one.
    pub target: &'a str,
    /// As the client named it, perhaps with a port. If it is empty, the first `Host` field counts.
    pub host: &'a str,
    /// The client's address, as far as it is known (K3 is the door's work).
    pub address: Option<IpAddr>,
    /// All header fields.
    pub headers: &'a dyn Headers,
    /// Whom somebody trustworthy has authenticated.
    pub user: Option<&'a str>,
    /// What that one has paid for.
    pub plan: Option<&'a str>,
    /// What a token says.
    pub claims: Claims<'a>,
    /// The template of the route that will serve it, such as `/users/{id}`.
    pub route: Option<&'a str>,
    /// As on the wire: `HTTP/1.1`.
    pub version: &'a str,
    /// Length of the body, if it is known.
    pub body_bytes: Option<u64>,
    /// What it costs, as somebody trustworthy says: it counts in place of the header field or the parameter of the query that a
    /// rule reads its cost from, whatever the client wrote there.
    pub cost: Option<Cost>,
}

/// What a token says, and who says that it is genuine.
#[derive(Debug, Clone, Copy)]
pub enum Claims<'a> {
    /// There was none, or a forged or expired one.
    None,
    /// Its signature was verified here.
    Verified(&'a Value),
    /// Nobody has verified it here: of use only to rules that trust someone upstream.
    Unverified(&'a Value),
}

/// Header fields, by name. Names are looked up in lower case.
pub trait Headers: Sync {
    /// The value of the field, if it occurs exactly once and is text: of two API keys a client could choose.
    fn get(&self, name: &str) -> Option<&str>;

    /// Every field's name, in any order and any case, as often as it occurs.
    fn each_name(&self, visit: &mut dyn FnMut(&str));

    /// Every value of the field that is text, in order.
    fn each_value(&self, name: &str, visit: &mut dyn FnMut(&str));

    /// The first value of the field, if it is text. Implement it where a field may occur twice: unless it is, such a field has none.
    fn first(&self, name: &str) -> Option<&str> {
        self.get(name)
    }

    /// Whether the field occurs at all.
    fn is_present(&self, name: &str) -> bool {
        let mut is_present = false;
        self.each_line(name, &mut |_| is_present = true);
        is_present
    }

    /// Every value of the field, in order, as the bytes that were sent. Implement it where values may be other than text:
    /// unless it is, those are left out, and the client address is looked for no further than the peer.
    fn each_line(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        self.each_value(name, &mut |value| visit(value.as_bytes()));
    }
}

/// No header fields.
#[derive(Debug, Clone, Copy)]
pub struct NoHeaders;

impl Headers for NoHeaders {
    fn get(&self, _name: &str) -> Option<&str> {
        None
    }

    fn each_name(&self, _visit: &mut dyn FnMut(&str)) {}

    fn each_value(&self, _name: &str, _visit: &mut dyn FnMut(&str)) {}
}

/// Names and values, as tests, tools and JSON have them. Names in any case.
impl Headers for Vec<(String, String)> {
    fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        let only = found.next().map(|(_, value)| value.as_str());
        only.filter(|_| found.next().is_none())
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        for (field, _) in self {
            visit(field);
        }
    }

    fn each_value(&self, name: &str, visit: &mut dyn FnMut(&str)) {
        let values = self.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        values.for_each(|(_, value)| visit(value));
    }

    fn first(&self, name: &str) -> Option<&str> {
        let mut found = self.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }
}

impl<'a> Facts<'a> {
    /// A request of which nothing else is known.
    pub fn new(method: &'a str, target: &'a str) -> Facts<'a> {
        Facts {
            method,
            target,
            host: "",
            address: None,
            headers: &NoHeaders,
            user: None,
            plan: None,
            claims: Claims::None,
            route: None,
            version: "HTTP/1.1",
            body_bytes: None,
            cost: None,
        }
    }
}
