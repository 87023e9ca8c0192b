//! Which requests a rule governs: a tree of tests, as the policy says.

pub(crate) mod evaluation;
pub(crate) mod path_test;
pub(crate) mod reading;

use ipnet::IpNet;

use crate::{Client, KeySource, Regex};

/// A test of a request's facts.
#[derive(Debug, Clone)]
pub enum Condition {
    /// Every request.
    Always,
    /// All of them.
    All(Vec<Condition>),
    /// At least one of them.
    Any(Vec<Condition>),
    /// The opposite.
    Not(Box<Condition>),
    /// The path.
    Path(PathTest),
    /// The method.
    Method(MethodSet),
    /// The host.
    Host(HostPattern),
    /// Anything else that a key can be made of. A request that lacks it fails the test.
    Value(KeySource, ValueTest),
    /// The client. No file says this: standing orders do.
    Client(Client),
}

/// A pattern, and how strictly paths are held against it.
#[derive(Debug, Clone)]
pub struct PathTest {
    /// In lower case unless `is_case_sensitive`; without a trailing slash unless `keeps_trailing_slash`.
    pub pattern: PathPattern,
    /// `/A` and `/a` are two paths.
    pub is_case_sensitive: bool,
    /// `/a` and `/a/` are two paths.
    pub keeps_trailing_slash: bool,
}

/// A set of paths.
#[derive(Debug, Clone)]
pub enum PathPattern {
    /// `/api/search`: this one.
    Exact(Box<str>),
    /// `/api/*` at the end, or `prefix: /api`: this one and all below it.
    Prefix(Box<str>),
    /// `/users/{id}/posts`: so many segments, those in braces being anything.
    Template(Vec<Option<Box<str>>>),
    /// `/files/**/*.png`: `*` within a segment, `**` over several. With the segments before the first wildcard.
    Glob {
        /// As typed.
        text: Box<str>,
        /// What it means.
        regex: Regex,
        /// Leading segments without wildcards.
        literal: Vec<Box<str>>,
    },
}

/// A set of methods, as bits: see [`MethodSet::of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodSet(pub u16);

/// A set of hosts, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// This one.
    Exact(Box<str>),
    /// `*.example.com`: all below it, not itself. Held without the `*`, with the dot.
    Below(Box<str>),
}

/// What a value must be.
#[derive(Debug, Clone)]
pub enum ValueTest {
    /// One of these.
    OneOf(Vec<Box<str>>),
    /// It matches, anywhere unless anchored.
    Matches(Regex),
    /// It is an address in one of these networks.
    Within(Vec<IpNet>),
    /// It is there.
    Present,
}

impl MethodSet {
    /// No method.
    pub const NONE: MethodSet = MethodSet(0);
    const NAMES: [&'static str; 9] =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

    /// The set of this method alone; `post` is `POST`, as some servers read it. All methods without a name here are one.
    #[inline]
    pub fn of(method: &str) -> MethodSet {
        let exact = Self::NAMES.iter().position(|name| *name == method);
        let at = exact.or_else(|| Self::NAMES.iter().position(|name| name.eq_ignore_ascii_case(method)));
        MethodSet(1 << at.unwrap_or(Self::NAMES.len()))
    }

    /// Whether it is one that [`MethodSet::of`] tells apart, in whatever case.
    pub fn is_known(method: &str) -> bool {
        MethodSet::of(method).known_name().is_some()
    }

    /// The name of the only method of the set, if it has one.
    pub(crate) fn known_name(self) -> Option<&'static str> {
        Self::NAMES.get(self.0.trailing_zeros() as usize).copied()
    }

    /// Both.
    #[must_use]
    pub const fn with(self, other: MethodSet) -> MethodSet {
        MethodSet(self.0 | other.0)
    }

    /// Whether they have a method in common.
    pub const fn meets(self, other: MethodSet) -> bool {
        self.0 & other.0 != 0
    }

    /// The names of those that have one.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().enumerate().filter(move |(at, _)| self.0 >> at & 1 == 1).map(|(_, name)| name)
    }
}
