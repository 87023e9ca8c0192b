//! The text of an entry: one rule or one group, read as a policy file's list would.

use std::rc::Rc;

use crate::regex::PatternBudget;
use crate::{Entry, Mode, Source, Stop};

use super::found::Found;
use super::mistakes::Mistakes;
use super::tree::{Node, Place};
use super::{canonical, document, events, group};

/// An entry with what became of its text.
pub(super) struct ReadEntry<'t> {
    pub(super) name: &'t str,
    pub(super) is_active: bool,
    text: &'t str,
    tree: Option<Node<'t>>,
    pub(super) found: Found,
    /// Every rule knows that it is of this entry, and is off if the entry is not active. `None` after a mistake.
    pub(super) item: Option<group::Entry>,
}

impl Entry {
    /// The name of an entry of this text, and the text as it is best stored: block YAML, without comments. Or every mistake.
    ///
    /// ```
    /// # use tollgate_policy::*;
    /// let (name, text) = Entry::parse(r#"{"name": "search", "path": "/search", "scope": "endpoint", "rate": 5, "burst": 10}"#)?;
    /// assert_eq!(name, "search");
    /// assert_eq!(text, "name: \"search\"\npath: \"/search\"\nscope: \"endpoint\"\nrate: 5\nburst: 10\n");
    /// assert_eq!(Entry::parse(&text)?, (name, text));
    /// # Ok::<(), Mistakes>(())
    /// ```
    pub fn parse(text: &str) -> Result<(String, String), Mistakes> {
        EntryReader::until(&Stop::default()).parse(text)
    }
}

/// Reads the entries of one rule set: the bounds of a policy's regexes and globs hold for all of them together.
#[derive(Debug)]
pub struct EntryReader {
    patterns: Rc<PatternBudget>,
}

impl EntryReader {
    /// Reads until another thread asks it to stop.
    pub fn until(stop: &Stop) -> EntryReader {
        EntryReader { patterns: Rc::new(PatternBudget::until(stop.clone())) }
    }

    /// The same as [`Entry::parse`].
    pub fn parse(&self, text: &str) -> Result<(String, String), Mistakes> {
        let unnamed = Entry { name: String::new(), text: text.to_owned(), is_active: true };
        let read = ReadEntry::read(&unnamed, &self.patterns);
        let name = read.own_name();
        match (&read.tree, &read.item) {
            (Some(tree), Some(_)) if read.found.is_empty() => Ok((name, canonical::write(tree))),
            _ => Err(ReadEntry { name: &name, ..read }.mistakes()),
        }
    }
}

impl<'t> ReadEntry<'t> {
    /// Reads the text of an entry.
    pub(super) fn read(entry: &'t Entry, patterns: &Rc<PatternBudget>) -> ReadEntry<'t> {
        let text = entry.text.strip_prefix('\u{feff}').unwrap_or(&entry.text);
        let mut found = Found::within(patterns);
        let tree = events::read(text, &mut found);
        let mut item = tree.as_ref().and_then(|root| document::entry(root, &mut found));
        let source = Source::Entry(entry.name.as_str().into());
        for typed in item.iter_mut().flat_map(group::Entry::rules_mut) {
            typed.rule.source = source.clone();
            if !entry.is_active {
                typed.rule.mode = Mode::Off;
            }
        }
        ReadEntry { name: &entry.name, is_active: entry.is_active, text, tree, found, item }
    }

    /// The name that its rule or group has.
    pub(super) fn own_name(&self) -> String {
        let typed = |field| self.tree.as_ref().and_then(|root| root.field(field)?.scalar());
        match &self.item {
            Some(group::Entry::Rule(typed)) => typed.rule.name.to_string(),
            Some(group::Entry::Group(group)) => group.name.to_string(),
            None => typed("group").or_else(|| typed("name")).unwrap_or_default().to_owned(),
        }
    }

    /// A mistake if the entry and its rule are called differently: by which would it be found?
    pub(super) fn check_name(&mut self) {
        let own = self.own_name();
        let Some(tree) = self.tree.as_ref().filter(|_| self.item.is_some() && own != self.name) else {
            return;
        };
        let place = tree.field("group").or_else(|| tree.field("name")).map_or(tree.head(), |name| name.place);
        let what = format!("this is called `{own}`, and the entry `{}`", self.name);
        self.found.add(place, what, "give both the same name");
    }

    /// A mistake where one of its rules or its group begins.
    pub(super) fn add(&mut self, place: Place, what: String, cure: String) {
        self.found.add(place, what, cure);
    }

    /// Every mistake.
    pub(super) fn mistakes(self) -> Mistakes {
        let source = Source::Entry(self.name.into());
        Mistakes::of_text("", &source, self.text, self.tree.as_ref(), self.found)
    }
}
