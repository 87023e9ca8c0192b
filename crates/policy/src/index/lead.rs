//! What a condition asks of client, host, path and method at the least: where it is filed.
//!
//! Promises that a request which meets the condition meets its lead, too. The reverse is not promised.

use crate::{Client, Condition, KeySource, MethodSet, PathPattern, ValueTest};

use super::ALL_METHODS;

/// A condition is filed at most this many times for its combinations of hosts and paths; with more, under any host.
const PLACES_MAX: usize = 64;

/// What a condition asks at the least. `None` is "anything".
#[derive(Debug, Clone)]
pub(super) struct Lead<'c> {
    pub(super) hosts: Option<Vec<Host<'c>>>,
    pub(super) paths: Option<Vec<PathLead<'c>>>,
    pub(super) methods: MethodSet,
    /// One client alone.
    pub(super) client: Option<&'c Client>,
}

/// A host that is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Host<'c> {
    /// This one.
    Exact(&'c str),
    /// One that ends so, with the dot.
    Below(&'c str),
}

/// How a path must begin, by segments; empty ones do not count.
#[derive(Debug, Clone)]
pub(super) struct PathLead<'c> {
    /// `None` is any segment.
    pub(super) segments: Vec<Option<&'c str>>,
    /// Whether more segments may follow.
    pub(super) is_open: bool,
}

impl<'c> Lead<'c> {
    const ANYTHING: Lead<'static> = Lead { hosts: None, paths: None, methods: ALL_METHODS, client: None };

    /// What `condition` asks at the least.
    pub(super) fn of(condition: &'c Condition) -> Lead<'c> {
        match condition {
            Condition::All(all) => all.iter().map(Lead::of).fold(Lead::ANYTHING, Lead::and),
            Condition::Any(any) => {
                let nothing = Lead {
                    hosts: Some(Vec::new()),
                    paths: Some(Vec::new()),
                    methods: MethodSet::NONE,
                    client: None,
                };
                any.iter().map(Lead::of).fold(nothing, Lead::or)
            }
            Condition::Path(test) => {
                Lead { paths: Some(vec![PathLead::of(&test.pattern)]), ..Lead::ANYTHING }
            }
            Condition::Method(methods) => Lead { methods: *methods, ..Lead::ANYTHING },
            Condition::Host(pattern) => Lead { hosts: Some(vec![pattern.into()]), ..Lead::ANYTHING },
            Condition::Value(KeySource::Host, ValueTest::OneOf(hosts)) => {
                Lead { hosts: Some(hosts.iter().map(|host| Host::Exact(host)).collect()), ..Lead::ANYTHING }
            }
            Condition::Value(KeySource::Method, ValueTest::OneOf(methods)) => {
                let methods = methods.iter().map(|method| MethodSet::of(method));
                Lead { methods: methods.fold(MethodSet::NONE, MethodSet::with), ..Lead::ANYTHING }
            }
            Condition::Client(client) => Lead { client: Some(client), ..Lead::ANYTHING },
            Condition::Always | Condition::Not(_) | Condition::Value(..) => Lead::ANYTHING,
        }
    }

    /// The hosts to file it under, unless that would be in too many places.
    pub(super) fn hosts_to_file(&self) -> Option<&[Host<'c>]> {
        let paths = self.paths.as_ref().map_or(1, Vec::len);
        let is_product = paths > 1 && self.hosts.as_ref().is_some_and(|hosts| hosts.len() > 1);
        self.hosts.as_deref().filter(|hosts| !is_product || hosts.len() * paths <= PLACES_MAX)
    }

    /// Both are asked for. Of two lists of hosts or paths one is enough: the shorter.
    fn and(self, other: Lead<'c>) -> Lead<'c> {
        Lead {
            hosts: shorter(self.hosts, other.hosts),
            paths: tighter(self.paths, other.paths),
            methods: MethodSet(self.methods.0 & other.methods.0),
            client: self.client.or(other.client),
        }
    }

    /// One of both is asked for.
    fn or(self, other: Lead<'c>) -> Lead<'c> {
        Lead {
            hosts: joined(self.hosts, other.hosts),
            paths: joined(self.paths, other.paths),
            methods: self.methods.with(other.methods),
            client: None,
        }
    }
}

impl<'c> PathLead<'c> {
    fn of(pattern: &'c PathPattern) -> PathLead<'c> {
        let (segments, is_open): (Vec<Option<&str>>, bool) = match pattern {
            PathPattern::Exact(path) => (path.split('/').map(Some).collect(), false),
            PathPattern::Prefix(path) => (path.split('/').map(Some).collect(), true),
            PathPattern::Template(segments) => (segments.iter().map(Option::as_deref).collect(), false),
            PathPattern::Glob { literal, .. } => {
                (literal.iter().map(|segment| Some(&**segment)).collect(), true)
            }
        };
        PathLead { segments: segments.into_iter().filter(|segment| *segment != Some("")).collect(), is_open }
    }
}

fn shorter<T>(a: Option<Vec<T>>, b: Option<Vec<T>>) -> Option<Vec<T>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.len() < a.len() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The list that is more telling: whose least telling path has more literal segments.
fn tighter<'c>(a: Option<Vec<PathLead<'c>>>, b: Option<Vec<PathLead<'c>>>) -> Option<Vec<PathLead<'c>>> {
    let telling = |paths: &[PathLead<'_>]| {
        paths.iter().map(|path| path.segments.iter().flatten().count()).min().unwrap_or(usize::MAX)
    };
    match (a, b) {
        (Some(a), Some(b)) => Some(if telling(&b) > telling(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn joined<T>(a: Option<Vec<T>>, b: Option<Vec<T>>) -> Option<Vec<T>> {
    let (mut a, b) = (a?, b?);
    a.extend(b);
    Some(a)
}
