//! Entries by the leading segments of the paths they ask for.

use std::collections::HashMap;

use super::Entry;
use super::lead::PathLead;

/// A tree of segments, in lower case.
#[derive(Debug, Default)]
pub(super) struct PathTree {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    /// Come into question if the path ends here.
    here: Vec<Entry>,
    /// Come into question if the path ends here or goes on.
    open: Vec<Entry>,
    children: HashMap<Box<str>, Node>,
    /// Whatever the next segment is.
    any_child: Option<Box<Node>>,
}

impl PathTree {
    /// Files an entry under each of the paths it asks for, or under all.
    pub(super) fn file(&mut self, entry: Entry, paths: Option<&[PathLead<'_>]>) {
        let Some(paths) = paths else {
            self.root.open.push(entry);
            return;
        };
        for path in paths {
            let node = path.segments.iter().fold(&mut self.root, |node, segment| match segment {
                // Requests come with their case folded; a test that minds the case is asked afterwards.
                Some(segment) => node.children.entry(segment.to_ascii_lowercase().into()).or_default(),
                None => node.any_child.get_or_insert_default(),
            });
            if path.is_open { node.open.push(entry) } else { node.here.push(entry) }
        }
    }

    /// All entries, in the order in which they were filed, if they come into question whatever the path is.
    #[inline]
    pub(super) fn entries_for_any_path(&self) -> Option<&[Entry]> {
        let Node { here, open, children, any_child } = &self.root;
        let is_flat = here.is_empty() && children.is_empty() && any_child.is_none();
        is_flat.then_some(open)
    }

    /// Shows every entry that comes into question for a path whose case is folded.
    pub(super) fn walk(&self, path: &str, visit: &mut impl FnMut(&Entry)) {
        let rest = path.strip_prefix('/').filter(|rest| !rest.is_empty());
        walk(&self.root, rest, visit);
    }
}

/// As deep as the longest pattern; `rest` is what follows the slash, if anything does.
fn walk(node: &Node, rest: Option<&str>, visit: &mut impl FnMut(&Entry)) {
    node.open.iter().for_each(&mut *visit);
    let Some(rest) = rest else {
        node.here.iter().for_each(visit);
        return;
    };
    let (segment, rest) = match rest.split_once('/') {
        Some((segment, rest)) => (segment, Some(rest)),
        None => (rest, None),
    };
    if let Some(child) = node.children.get(segment) {
        walk(child, rest, visit);
    }
    if let Some(child) = &node.any_child {
        walk(child, rest, visit);
    }
}
