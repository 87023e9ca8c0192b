//! Which rules could govern a request, found by host, path and method; those about one client, by client.
//!
//! Promises every rule whose condition could hold, in the order of the policy, each once; and work that grows with their
//! number, not with that of all rules. Does not promise that the conditions hold: they are asked afterwards.

mod clients;
mod lead;
mod path_tree;
mod worst_request;

use std::collections::HashMap;

use crate::condition::reading::Reading;
use crate::few::Few;
use crate::request::Request;
use crate::{Condition, HostPattern, MethodSet};
use clients::Clients;
use lead::Lead;
use path_tree::PathTree;
pub use worst_request::PATTERNS_READ_BYTES_MAX;

/// So many candidates are held without the allocator.
pub(crate) const CANDIDATES_ON_STACK: usize = 64;

/// Positions of rules, in order.
pub(crate) type Candidates = Few<usize, CANDIDATES_ON_STACK>;

/// Conditions by what they ask of client, host, path and method.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Those that ask for this host.
    exact: HashMap<Box<str>, PathTree>,
    /// Those that ask for a host that ends so; with the dot.
    below: HashMap<Box<str>, PathTree>,
    /// Those that ask for one client, whatever else they ask for.
    clients: Clients,
    /// All others.
    any: PathTree,
}

/// A position in the list of conditions, and the methods for which it comes into question.
#[derive(Debug, Clone, Copy)]
struct Entry {
    position: usize,
    methods: MethodSet,
}

/// How a rule counts where its condition meets an ambiguous value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight {
    pub(crate) reading: Reading,
    /// It refuses every request that meets its condition.
    pub(crate) is_decisive: bool,
}

impl Index {
    /// Files each condition under its position. Linear in the size of all conditions.
    pub(crate) fn new<'c>(conditions: impl Iterator<Item = (usize, &'c Condition, Weight)>) -> Index {
        let mut index = Index::default();
        for (position, condition, weight) in conditions {
            let is_decisive = weight.is_decisive && matches!(condition, Condition::Client(_));
            index.file(position, &Lead::of(condition), Weight { is_decisive, ..weight });
        }
        index
    }

    fn file(&mut self, position: usize, lead: &Lead<'_>, weight: Weight) {
        let entry = Entry { position, methods: lead.methods };
        if entry.methods == MethodSet::NONE {
            return;
        }
        if let Some(client) = lead.client {
            self.clients.file(entry, client, weight);
            return;
        }
        let Some(hosts) = lead.hosts_to_file() else {
            self.any.file(entry, lead.paths.as_deref());
            return;
        };
        for host in hosts {
            let tree = match host {
                lead::Host::Exact(name) => self.exact.entry((*name).into()).or_default(),
                lead::Host::Below(suffix) => self.below.entry((*suffix).into()).or_default(),
            };
            tree.file(entry, lead.paths.as_deref());
        }
    }

    /// The positions of all conditions that could hold, ascending, each once.
    #[inline]
    pub(crate) fn candidates(&self, request: &Request<'_>, visit: impl FnMut(usize) -> bool) {
        if self.clients.is_empty() {
            self.candidates_of_anyone(request, visit);
        } else {
            self.candidates_of_client(request, visit);
        }
    }

    #[inline]
    fn candidates_of_anyone(&self, request: &Request<'_>, mut visit: impl FnMut(usize) -> bool) {
        match self.any.entries_for_any_path().filter(|_| self.exact.is_empty() && self.below.is_empty()) {
            // As they were filed: in order, each once.
            Some(entries) => {
                let meets = |entry: &&Entry| entry.methods.meets(request.method);
                let _ = entries.iter().filter(meets).all(|entry| visit(entry.position));
            }
            None => self.candidates_by_host_and_path(Candidates::new(), request, visit),
        }
    }

    /// Nothing is the dearer for those whom no order is about but the look-ups.
    fn candidates_of_client(&self, request: &Request<'_>, visit: impl FnMut(usize) -> bool) {
        let mut found = Candidates::new();
        self.clients.visit(request, &mut |entry| {
            if entry.methods.meets(request.method) {
                found.push(entry.position);
            }
        });
        if found.as_mut_slice().is_empty() {
            self.candidates_of_anyone(request, visit);
        } else {
            self.candidates_by_host_and_path(found, request, visit);
        }
    }

    /// With those that were `found` already.
    fn candidates_by_host_and_path(
        &self,
        mut found: Candidates,
        request: &Request<'_>,
        mut visit: impl FnMut(usize) -> bool,
    ) {
        for form in request.forms().iter() {
            self.walk_trees(request, request.path(form).folded(), &mut |entry| {
                if entry.methods.meets(request.method) {
                    found.push(entry.position);
                }
            });
            found.sort_and_dedup();
        }
        let _ = found.as_mut_slice().iter().all(|position| visit(*position));
    }

    /// Shows the entries that come into question for this form of the path.
    fn walk_trees(&self, request: &Request<'_>, path: &str, note: &mut impl FnMut(&Entry)) {
        self.any.walk(path, note);
        let asks_for_host = !self.exact.is_empty() || !self.below.is_empty();
        if let Some(host) = asks_for_host.then(|| request.host()).flatten() {
            if let Some(tree) = self.exact.get(host) {
                tree.walk(path, note);
            }
            if !self.below.is_empty() {
                let dots = host.bytes().enumerate().filter(|(_, byte)| *byte == b'.');
                let suffixes = dots.filter_map(|(at, _)| host.get(at..));
                suffixes.filter_map(|suffix| self.below.get(suffix)).for_each(|tree| tree.walk(path, note));
            }
        }
    }
}

/// The bits of every method.
const ALL_METHODS: MethodSet = MethodSet(u16::MAX);

impl<'c> From<&'c HostPattern> for lead::Host<'c> {
    fn from(pattern: &'c HostPattern) -> Self {
        match pattern {
            HostPattern::Exact(name) => lead::Host::Exact(name),
            HostPattern::Below(suffix) => lead::Host::Below(suffix),
        }
    }
}
