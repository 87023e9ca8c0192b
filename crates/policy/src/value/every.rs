//! Every value of a name, byte by byte: what block rules, block orders and limit rules look at where a value is ambiguous.

use std::ops::ControlFlow;

use super::cookie::CookieReading;
use super::{Ambiguity, Lookup, PartKind, Scratch, claim, cookie, header, query};
use crate::KeySource;
use crate::request::Request;

/// One of the values of a name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RawValue<'v> {
    /// The bytes that were sent.
    Bytes(PartKind, &'v [u8]),
    /// A reading of a cookie.
    Cookie(CookieReading<'v>),
    /// The value of a query parameter, still encoded.
    Encoded(&'v str),
    /// An unknown value: a claim of a token that occurs more than once, or a value of a name that occurs too often.
    Unreadable,
}

/// Looks at a value; breaks if it needs no further one.
pub(super) type Visit<'v> = dyn FnMut(RawValue<'_>) -> ControlFlow<()> + 'v;

impl RawValue<'_> {
    /// Whether it is this text, byte by byte. Of a cookie, the text may be written percent-encoded.
    pub(crate) fn is(self, text: &str) -> bool {
        match self {
            RawValue::Cookie(reading) => reading.is(text),
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
            RawValue::Cookie(reading) => match reading.read(|bytes| scratch.write(bytes)) {
                Some(bytes) => of_bytes(PartKind::Cookie, bytes),
                None => Lookup::Ambiguous(Ambiguity::TooLong),
            },
            RawValue::Bytes(kind, bytes) => of_bytes(*kind, bytes),
        }
    }
}

fn of_bytes(kind: PartKind, bytes: &[u8]) -> Lookup<'_> {
    match str::from_utf8(bytes) {
        Ok(text) => Lookup::of_text(kind, text),
        Err(_) => Lookup::Ambiguous(Ambiguity::Undecodable),
    }
}

/// Shows every value that the request has for `source`, empty ones among them, until `visit` breaks. Sources that never are
/// ambiguous show none. User and plan show [`RawValue::Unreadable`] if the token that may name them is ambiguous.
pub(crate) fn each_value(
    source: &KeySource,
    request: &Request<'_>,
    trusts_upstream: bool,
    visit: &mut Visit<'_>,
) {
    let facts = request.facts;
    let mut flow = ControlFlow::Continue(());
    match source {
        KeySource::Header(name) => header::each(facts.headers, name, visit),
        KeySource::Cookie(name) => cookie::each(facts.headers, name, visit),
        KeySource::Query(name) => _ = query::each(facts.target, name, visit),
        KeySource::Claim(path) => {
            if let Some(claims) = request.claims(trusts_upstream) {
                claim::each(claims, path, &mut |kind, bytes| {
                    if flow.is_continue() {
                        flow = visit(RawValue::Bytes(kind, bytes));
                    }
                });
            } else if request.has_ambiguous_token() {
                _ = visit(RawValue::Unreadable);
            }
        }
        KeySource::User | KeySource::Plan if request.has_ambiguous_token() => {
            _ = visit(RawValue::Unreadable);
        }
        KeySource::Path => {
            let mut paths = request.forms().iter().map(|form| request.path(form).folded().as_bytes());
            _ = paths.try_for_each(|path| visit(RawValue::Bytes(PartKind::Path, path)));
        }
        _ => {}
    }
}
