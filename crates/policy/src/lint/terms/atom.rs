//! One test of a request, and what follows from it about another.

use std::net::IpAddr;

use ipnet::IpNet;

use super::path;
use crate::{HostPattern, KeySource, PathTest, ValueTest};

/// One test of a request; of methods a [`super::Term`] keeps count itself.
#[derive(Debug, Clone)]
pub(crate) enum Atom<'c> {
    /// The path.
    Path(&'c PathTest),
    /// The host.
    Host(&'c HostPattern),
    /// A value that is one of these.
    OneOf(&'c KeySource, Vec<&'c str>),
    /// Any other test of a value.
    Value(&'c KeySource, &'c ValueTest),
}

impl<'c> Atom<'c> {
    pub(super) fn of_value(source: &'c KeySource, test: &'c ValueTest) -> Atom<'c> {
        match test {
            ValueTest::OneOf(values) => {
                let values = values.iter().map(|value| &**value);
                Atom::OneOf(source, values.filter(|value| may_be(source, value)).collect())
            }
            ValueTest::Matches(_) | ValueTest::Within(_) | ValueTest::Present => Atom::Value(source, test),
        }
    }

    /// What it looks at, other than path and host.
    pub(crate) fn source(&self) -> Option<&'c KeySource> {
        match self {
            Atom::OneOf(source, _) | Atom::Value(source, _) => Some(source),
            Atom::Path(_) | Atom::Host(_) => None,
        }
    }

    /// Keeps those of its values that may be; does nothing to other tests.
    pub(super) fn keep_values(&mut self, may_be: impl Fn(&KeySource, &str) -> bool) {
        if let Atom::OneOf(source, values) = self {
            values.retain(|value| may_be(source, value));
        }
    }

    /// Whether this value of this source passes; `None` if it looks at something else, or it is not certain.
    pub(super) fn passes(&self, source: &KeySource, value: &str) -> Option<bool> {
        match self {
            Atom::OneOf(own, values) if *own == source => is_one_of(source, value, values),
            Atom::Value(own, test) if *own == source => match test {
                ValueTest::Present => Some(true),
                ValueTest::Matches(regex) => is_plain_text(source).then(|| regex.is_match(value)),
                ValueTest::Within(networks) => is_within(source, value, networks),
                ValueTest::OneOf(_) => None,
            },
            _ => None,
        }
    }

    /// Whether nothing passes.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Atom::OneOf(_, values) => values.is_empty(),
            Atom::Value(source, ValueTest::Within(networks)) => {
                !networks.iter().any(|network| may_be_within(source, network))
            }
            Atom::Value(..) | Atom::Path(_) | Atom::Host(_) => false,
        }
    }

    /// Whether whatever passes `inner` certainly passes this.
    pub(super) fn covers(&self, inner: &Atom<'c>) -> bool {
        match (self, inner) {
            (Atom::Path(outer), Atom::Path(inner)) => path::covers(outer, inner),
            (Atom::Host(outer), Atom::Host(inner)) => host_covers(outer, inner),
            (_, Atom::OneOf(source, values)) => {
                values.iter().all(|value| self.passes(source, value) == Some(true))
            }
            (Atom::Value(outer, outer_test), Atom::Value(inner, inner_test)) if outer == inner => {
                match (outer_test, inner_test) {
                    (ValueTest::Present, _) => true,
                    (ValueTest::Matches(outer), ValueTest::Matches(inner)) => {
                        outer.as_str() == inner.as_str()
                    }
                    (ValueTest::Within(outer), ValueTest::Within(inner)) => {
                        inner.iter().all(|inner| outer.iter().any(|outer| outer.contains(inner)))
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether nothing passes both, for certain.
    pub(super) fn excludes(&self, other: &Atom<'c>) -> bool {
        match (self, other) {
            (Atom::Path(one), Atom::Path(other)) => path::excludes(one, other),
            (Atom::Host(one), Atom::Host(other)) => host_excludes(one, other),
            (one, Atom::OneOf(source, values)) | (Atom::OneOf(source, values), one) => {
                values.iter().all(|value| one.passes(source, value) == Some(false))
            }
            (
                Atom::Value(one, ValueTest::Within(one_networks)),
                Atom::Value(other, ValueTest::Within(networks)),
            ) => {
                let meets = |one: &IpNet| networks.iter().any(|net| net.contains(one) || one.contains(net));
                one == other && !one_networks.iter().any(meets)
            }
            _ => false,
        }
    }
}

/// Whether the source ever has this value: a fingerprint is a hash in 64 hexadecimal digits.
fn may_be(source: &KeySource, value: &str) -> bool {
    let is_hash = || value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    *source != KeySource::Fingerprint || is_hash()
}

/// Whether the source ever has a value in this network: a prefix lies in none that is narrower.
fn may_be_within(source: &KeySource, network: &IpNet) -> bool {
    match (source, network) {
        (KeySource::Prefix { v4, .. }, IpNet::V4(network)) => network.prefix_len() <= *v4,
        (KeySource::Prefix { v6, .. }, IpNet::V6(network)) => network.prefix_len() <= *v6,
        _ => true,
    }
}

/// Whether a value of this source is nothing but its text. Addresses and networks have several spellings, the user may be an
/// address, a fingerprint may be written in either case.
fn is_plain_text(source: &KeySource) -> bool {
    !matches!(
        source,
        KeySource::Address | KeySource::Prefix { .. } | KeySource::User | KeySource::Fingerprint
    )
}

fn is_one_of(source: &KeySource, value: &str, values: &[&str]) -> Option<bool> {
    if values.contains(&value) {
        return Some(true);
    }
    match source {
        KeySource::Address => {
            let value = address(value)?;
            let others: Option<Vec<_>> = values.iter().map(|other| address(other)).collect();
            others.map(|others| others.contains(&value))
        }
        source => is_plain_text(source).then_some(false),
    }
}

fn is_within(source: &KeySource, value: &str, networks: &[IpNet]) -> Option<bool> {
    match (source, address(value)) {
        (KeySource::Prefix { .. } | KeySource::User | KeySource::Fingerprint, _)
        | (KeySource::Address, None) => None,
        (_, Some(address)) => Some(networks.iter().any(|network| network.contains(&address))),
        (_, None) => Some(false),
    }
}

fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

fn host_covers(outer: &HostPattern, inner: &HostPattern) -> bool {
    match (outer, inner) {
        (HostPattern::Exact(outer), HostPattern::Exact(inner)) => outer == inner,
        (HostPattern::Exact(_), HostPattern::Below(_)) => false,
        (HostPattern::Below(outer), HostPattern::Exact(inner)) => is_below(inner, outer),
        (HostPattern::Below(outer), HostPattern::Below(inner)) => inner.ends_with(&**outer),
    }
}

fn host_excludes(one: &HostPattern, other: &HostPattern) -> bool {
    match (one, other) {
        (HostPattern::Exact(one), HostPattern::Exact(other)) => one != other,
        (HostPattern::Exact(host), HostPattern::Below(suffix))
        | (HostPattern::Below(suffix), HostPattern::Exact(host)) => !is_below(host, suffix),
        (HostPattern::Below(one), HostPattern::Below(other)) => {
            !one.ends_with(&**other) && !other.ends_with(&**one)
        }
    }
}

fn is_below(host: &str, suffix: &str) -> bool {
    host.len() > suffix.len() && host.ends_with(suffix)
}
