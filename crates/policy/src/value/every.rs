//! Every value of a name, byte by byte: what block rules, block orders and limit rules look at where a value is ambiguous.

use super::{Ambiguity, Lookup, PartKind, Scratch, claim, cookie, header, query};
use crate::KeySource;
use crate::request::Request;

/// One of the values of a name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RawValue<'v> {
    /// The bytes that were sent.
    Bytes(PartKind, &'v [u8]),
    /// The value of a query parameter, still encoded.
    Encoded(&'v str),
    /// An unknown value: a claim of a token that occurs more than once.
    Unreadable,
}

impl RawValue<'_> {
    /// Whether it is this text, byte by byte. Of a cookie, the text may be written percent-encoded.
    pub(crate) fn is(self, text: &str) -> bool {
        match self {
            RawValue::Bytes(PartKind::Cookie, bytes) => cookie::is_reading_of(bytes, text),
            RawValue::Bytes(_, bytes) => bytes == text.as_bytes(),
            RawValue::Encoded(value) => query::decoded(value).eq(text.bytes()),
            RawValue::Unreadable => true,
        }
    }

    /// It as a single value; [`Lookup::Ambiguous`] if it cannot be read whole.
    pub(crate) fn read<'v>(&'v self, scratch: &'v mut Scratch) -> Lookup<'v> {
        match self {
            RawValue::Encoded(value) => query::decode(value, scratch),
            RawValue::Unreadable => Lookup::Ambiguous(Ambiguity::Token),
            RawValue::Bytes(kind, bytes) => match str::from_utf8(bytes) {
                Ok(text) => Lookup::of_text(*kind, text),
                Err(_) => Lookup::Ambiguous(Ambiguity::Undecodable),
            },
        }
    }
}

/// Shows every value that the request has for `source`, empty ones among them. Sources that never are ambiguous show
/// none. User and plan show [`RawValue::Unreadable`] if the token that may name them is ambiguous.
pub(crate) fn each_value(
    source: &KeySource,
    request: &Request<'_>,
    trusts_upstream: bool,
    visit: &mut dyn FnMut(RawValue<'_>),
) {
    let facts = request.facts;
    match source {
        KeySource::Header(name) => {
            header::each(facts.headers, name, &mut |value| visit(RawValue::Bytes(PartKind::Header, value)));
        }
        KeySource::Cookie(name) => {
            cookie::each(facts.headers, name, &mut |value| visit(RawValue::Bytes(PartKind::Cookie, value)));
        }
        KeySource::Query(name) => {
            query::each(facts.target, name, &mut |value| visit(RawValue::Encoded(value)));
        }
        KeySource::Claim(path) => {
            if let Some(claims) = request.claims(trusts_upstream) {
                claim::each(claims, path, &mut |kind, bytes| visit(RawValue::Bytes(kind, bytes)));
            } else if request.has_ambiguous_token() {
                visit(RawValue::Unreadable);
            }
        }
        KeySource::User | KeySource::Plan if request.has_ambiguous_token() => visit(RawValue::Unreadable),
        KeySource::Path => {
            for form in request.forms().iter() {
                visit(RawValue::Bytes(PartKind::Path, request.path(form).folded().as_bytes()));
            }
        }
        _ => {}
    }
}
