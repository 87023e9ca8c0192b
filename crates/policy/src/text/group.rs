//! Groups of rules: `{group: tiers, combine: first, rules: […]}` in the list of rules (P4). They do not nest.

use super::choice;
use super::fields::Fields;
use super::found::Found;
use super::rule::{self, TypedRule};
use super::rule_name;
use super::tree::{Kind, Node, Place};

const FIELDS: [&str; 3] = ["group", "combine", "rules"];
/// Most rules of one group.
const RULES_MAX: usize = 1_000;

/// An entry of the list of rules.
pub(super) enum Entry {
    Rule(Box<TypedRule>),
    Group(TypedGroup),
}

impl Entry {
    /// Its rules: one, or those of the group.
    pub(super) fn rules(&self) -> &[TypedRule] {
        match self {
            Entry::Rule(rule) => std::slice::from_ref(rule),
            Entry::Group(group) => &group.rules,
        }
    }

    /// The same, to be changed.
    pub(super) fn rules_mut(&mut self) -> &mut [TypedRule] {
        match self {
            Entry::Rule(rule) => std::slice::from_mut(rule),
            Entry::Group(group) => &mut group.rules,
        }
    }
}

/// A group as it was typed.
pub(super) struct TypedGroup {
    pub(super) name: Box<str>,
    pub(super) place: Place,
    /// Of its rules only the first that matches applies; else they all do.
    pub(super) is_first: bool,
    pub(super) rules: Vec<TypedRule>,
}

/// Reads a rule or a group; `None` after a mistake.
pub(super) fn read(node: &Node<'_>, found: &mut Found) -> Option<Entry> {
    let is_group =
        node.field("group").is_some() || node.field("combine").is_some() || node.field("rules").is_some();
    if is_group {
        group(node, found).map(Entry::Group)
    } else {
        rule::read(node, found).map(|rule| Entry::Rule(Box::new(rule)))
    }
}

fn group(node: &Node<'_>, found: &mut Found) -> Option<TypedGroup> {
    let mut fields =
        Fields::of(node, "a group", "write `{group: tiers, combine: first, rules: […]}`", found)?;
    let name_node = fields.need("group", "this group", "add its name, as in `group: tiers`", found);
    let name = name_node.and_then(|node| rule_name::read(node, "group", found));
    let cure = "add `combine: first` (the first rule that matches applies: tiers) or `combine: all` (every one does)";
    let combine = fields.need("combine", "this group", cure, found);
    let is_first =
        combine.and_then(|node| choice::one_of(node, "combine", &[("first", true), ("all", false)], found));
    let rules = fields
        .need("rules", "this group", "add its rules, a list", found)
        .and_then(|node| rules(node, found));
    fields.refuse_rest("a group", &FIELDS, found);
    Some(TypedGroup { name: name?, place: name_node?.place, is_first: is_first?, rules: rules? })
}

fn rules(node: &Node<'_>, found: &mut Found) -> Option<Vec<TypedRule>> {
    let Kind::List(items) = &node.kind else {
        found.unfit(node, "rules", "a list", "write a list of rules");
        return None;
    };
    if items.is_empty() || items.len() > RULES_MAX {
        let what = format!("this group has {} rules", items.len());
        found.add(node.head(), what, format!("write 1 to {RULES_MAX} rules"));
        return None;
    }
    let mut rules = Vec::new();
    for item in items {
        if item.field("group").is_some() {
            found.add(
                item.head(),
                "a group within a group",
                "move it out: groups stand side by side in `rules`",
            );
            rules.push(None);
        } else {
            rules.push(rule::read(item, found));
        }
    }
    rules.into_iter().collect()
}
