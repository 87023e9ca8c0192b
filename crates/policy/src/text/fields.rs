//! The fields of a mapping, taken one by one; what nobody took is a mistake.

use super::did_you_mean;
use super::foreign_names;
use super::found::Found;
use super::tree::{Key, Kind, Node, Place, cut};

/// Longer lists of fields help nobody.
const LISTED_MAX: usize = 12;
/// So many unknown fields are asked what they stand for.
const STRANGE_MAX: usize = 32;

/// The fields of one mapping, some of them perhaps from a mapping inside it.
pub(super) struct Fields<'n, 't> {
    /// Where the mapping begins, for what is missing.
    pub(super) head: Place,
    entries: Vec<Entry<'n, 't>>,
    /// Fields that the cures of other mistakes ask for.
    asked_for: String,
}

struct Entry<'n, 't> {
    key: &'n Key<'t>,
    value: &'n Node<'t>,
    is_taken: bool,
}

impl<'n, 't> Fields<'n, 't> {
    /// The fields of a node, or a mistake if it is no mapping. `what` is what it should have been: `a rule`.
    pub(super) fn of(
        node: &'n Node<'t>,
        what: &str,
        cure: &str,
        found: &mut Found,
    ) -> Option<Fields<'n, 't>> {
        let Kind::Map(entries) = &node.kind else {
            if !matches!(node.kind, Kind::Broken) {
                found.add(
                    node.head(),
                    format!("{what} is {}, not a mapping of fields", node.described()),
                    cure,
                );
            }
            return None;
        };
        let entries = entries.iter().map(|(key, value)| Entry { key, value, is_taken: false }).collect();
        Some(Fields { head: node.head(), entries, asked_for: String::new() })
    }

    /// Adds the fields of a mapping inside this one, as if they stood here. Those not in `known` are mistakes there.
    pub(super) fn absorb(&mut self, inner: Fields<'n, 't>, owner: &str, known: &[&str], found: &mut Found) {
        for entry in inner.entries {
            let name = entry.key.text.as_ref();
            if !known.contains(&name) {
                let cure = if super::rule::FIELDS.contains(&name) {
                    format!("move `{name}` out of `{owner}`, to the rule itself")
                } else {
                    cure_of(name, known)
                };
                self.asked_for.push_str(&cure);
                found.add(entry.key.place, format!("`{owner}` has no field `{}`", cut(name)), cure);
            } else if let Some(outer) = self.entries.iter().find(|outer| outer.key.text == entry.key.text) {
                let line = outer.key.place.line;
                let what = format!("`{name}` is given twice: here, and in the rule itself on line {line}");
                found.add(entry.key.place, what, "keep one of the two");
            } else {
                self.entries.push(entry);
            }
        }
    }

    /// The value of a field, if it is there.
    pub(super) fn take(&mut self, name: &str) -> Option<&'n Node<'t>> {
        self.take_with_place(name).map(|(_, value)| value)
    }

    /// The value of a field, left for somebody else to take.
    pub(super) fn peek(&self, name: &str) -> Option<&'n Node<'t>> {
        self.entries.iter().find(|entry| entry.key.text == name).map(|entry| entry.value)
    }

    /// The value of a field and where its name stands.
    pub(super) fn take_with_place(&mut self, name: &str) -> Option<(Place, &'n Node<'t>)> {
        let entry = self.entries.iter_mut().find(|entry| entry.key.text == name)?;
        entry.is_taken = true;
        Some((entry.key.place, entry.value))
    }

    /// The value of a field that must be there, or a mistake.
    pub(super) fn need(
        &mut self,
        name: &str,
        owner: &str,
        cure: &str,
        found: &mut Found,
    ) -> Option<&'n Node<'t>> {
        let value = self.take(name);
        if value.is_none() {
            self.lacks(name, owner, cure, found);
        }
        value
    }

    /// A mistake: a field that must be there is not. Nothing is said if it is there under a name that is not ours: the cure
    /// of that mistake asks for it.
    pub(super) fn lacks(&self, name: &str, owner: &str, cure: &str, found: &mut Found) {
        if found.is_full() {
            found.count_one();
        } else if !self.is_asked_for(name) {
            found.add_to_whole(self.head, format!("{owner} has no `{name}`"), cure);
        }
    }

    /// Whether some other field is a mistake whose cure is this one.
    pub(super) fn is_asked_for(&self, name: &str) -> bool {
        let quoted = format!("`{name}");
        let known: Vec<&str> =
            super::rule::FIELDS.into_iter().chain(super::limit::FIELDS).chain(["rules"]).collect();
        let is_strange = |entry: &&Entry<'_, '_>| !known.contains(&entry.key.text.as_ref());
        let mut strange = self.entries.iter().filter(is_strange).take(STRANGE_MAX);
        self.asked_for.contains(&quoted)
            || strange.any(|entry| cure_of(&entry.key.text, &known).contains(&quoted))
    }

    /// The names and places of those fields of `names` that nobody has taken; they count as taken from here on.
    pub(super) fn take_left(&mut self, names: &[&'static str]) -> Vec<(&'static str, Place)> {
        let mut left = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_taken) {
            if let Some(name) = names.iter().find(|name| entry.key.text == **name) {
                entry.is_taken = true;
                left.push((*name, entry.key.place));
            }
        }
        left
    }

    /// Every field that nobody has taken.
    pub(super) fn rest(self) -> impl Iterator<Item = (&'n Key<'t>, &'n Node<'t>)> {
        self.entries.into_iter().filter(|entry| !entry.is_taken).map(|entry| (entry.key, entry.value))
    }

    /// Whatever is left is a mistake: `owner` has no such field.
    pub(super) fn refuse_rest(self, owner: &str, known: &[&str], found: &mut Found) {
        for (key, _) in self.rest() {
            if found.is_full() {
                found.count_one();
                continue;
            }
            let cure = cure_of(&key.text, known);
            found.add(key.place, format!("{owner} has no field `{}`", cut(&key.text)), cure);
        }
    }
}

/// What to write instead of a field that does not exist.
fn cure_of(typed: &str, known: &[&str]) -> String {
    match foreign_names::ours(typed, known) {
        Some(cure) => cure.to_owned(),
        None if known.len() <= LISTED_MAX => did_you_mean::cure(typed, known),
        None => match did_you_mean::nearest(typed, known.iter().copied()) {
            Some(word) => format!("did you mean `{word}`?"),
            None => "delete it; the fields there are: `tollgate schema`".to_owned(),
        },
    }
}
