//! The whole policy: a mapping with `rules`, a bare list of rules, or one bare rule.

use std::rc::Rc;

use crate::regex::PatternBudget;
use crate::{AnswerSettings, ClientAddressSettings, Group, Mode, PathEncoded, Policy, Rule};

use super::fields::Fields;
use super::found::Found;
use super::group::{self, Entry, TypedGroup};
use super::mistakes::Mistakes;
use super::rule::{self, TypedRule};
use super::rule_name::{self, Names};
use super::tree::{Kind, Node};
use super::{default_tier, events, foreign_names, jwt, kill_switch, settings, store};

pub(super) const FIELDS: [&str; 10] = [
    "version",
    "name",
    "mode",
    "rules",
    "kill_switches",
    "path_encoded",
    "answers",
    "client_address",
    "jwt",
    "store",
];
/// So many names of a mapping are asked whether a rule has them.
const NAMES_ASKED_MAX: usize = 64;
/// Most rules of a policy.
pub(super) const RULES_MAX: usize = 20_000;

/// A policy as it was typed: everything but its rules, and those as they are listed, each with its name.
pub(super) struct TypedPolicy {
    pub(super) policy: Policy,
    pub(super) entries: Vec<Entry>,
}

impl TypedPolicy {
    /// One without rules, all of whose settings are the usual ones.
    pub(super) fn empty() -> TypedPolicy {
        let policy = Policy {
            name: "default".into(),
            mode: Mode::Enforce,
            rules: Vec::new(),
            groups: Vec::new(),
            kill_switches: Vec::new(),
            path_encoded: PathEncoded::Fold,
            answers: AnswerSettings::default(),
            client_address: ClientAddressSettings::default(),
            client_address_line: 1,
            jwt: None,
            store: None,
            store_line: 1,
        };
        TypedPolicy { policy, entries: Vec::new() }
    }

    /// Reads the text of a policy, or tells every mistake.
    pub(super) fn parse(
        name_of_file: &str,
        text: &str,
        patterns: &Rc<PatternBudget>,
    ) -> Result<TypedPolicy, Mistakes> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut found = Found::within(patterns);
        let tree = events::read(text, &mut found);
        match tree.as_ref().and_then(|root| read(root, &mut found)) {
            Some(typed) if found.is_empty() => Ok(typed),
            _ => Err(Mistakes::new(name_of_file, text, tree.as_ref(), found)),
        }
    }

    /// The policy with its rules, those of groups in their groups.
    pub(super) fn arranged(self) -> Policy {
        let (rules, groups) = arrange(self.entries);
        Policy { rules, groups, ..self.policy }
    }
}

/// Reads the policy; `None` after a mistake.
pub(super) fn read(root: &Node<'_>, found: &mut Found) -> Option<TypedPolicy> {
    match &root.kind {
        Kind::List(_) => bare(rules(root, found)?, root, found),
        Kind::Map(entries) if is_bare_rule(entries.iter().map(|(key, _)| key.text.as_ref())) => {
            bare(vec![group::read(root, found)?], root, found)
        }
        _ => document(root, found),
    }
}

/// The rules and groups that a policy lists, as they stand in it.
pub(super) fn listed<'n, 't>(root: &'n Node<'t>) -> &'n [Node<'t>] {
    let list = match &root.kind {
        Kind::Map(entries) if is_bare_rule(entries.iter().map(|(key, _)| key.text.as_ref())) => {
            return std::slice::from_ref(root);
        }
        Kind::List(_) => Some(root),
        _ => root.field("rules"),
    };
    match list.map(|list| &list.kind) {
        Some(Kind::List(items)) => items,
        _ => &[],
    }
}

/// A mapping is a rule if it has nothing that only policies have, and something that only rules have, if under a name that is
/// not ours.
fn is_bare_rule<'k>(names: impl Iterator<Item = &'k str>) -> bool {
    let names: Vec<&str> = names.collect();
    let of_rules: Vec<&str> = rule::FIELDS.into_iter().chain(super::limit::FIELDS).collect();
    let is_of_policy = |name: &&str| FIELDS.contains(name) && !of_rules.contains(name);
    let is_of_rule = |name: &&str| {
        let is_ours = of_rules.contains(name) && !FIELDS.contains(name);
        is_ours || foreign_names::ours(name, &of_rules).is_some()
    };
    !names.iter().any(is_of_policy) && names.iter().take(NAMES_ASKED_MAX).any(is_of_rule)
}

fn bare(entries: Vec<Entry>, root: &Node<'_>, found: &mut Found) -> Option<TypedPolicy> {
    let mut names = Names::default();
    typed_names(root, &mut names, found);
    let entries = named(entries, names, found)?;
    Some(TypedPolicy { entries, ..TypedPolicy::empty() })
}

fn document(root: &Node<'_>, found: &mut Found) -> Option<TypedPolicy> {
    let cure = "write `rules:` and a list of rules, a list alone, or one rule";
    let mut fields = Fields::of(root, "the policy", cure, found)?;
    // Editors that complete JSON look for their schema here.
    let _ = fields.take("$schema");
    if let Some(node) = fields.take("version").filter(|node| node.scalar() != Some("1")) {
        found.add(
            node.head(),
            format!("`version` is {}", node.described()),
            "write `version: 1`, the only one there is, or delete the line",
        );
    }
    let name =
        fields.take("name").map_or(Some("default".into()), |node| rule_name::read(node, "name", found));
    let mode = fields.take("mode").map_or(Some(Mode::Enforce), |node| rule::mode(node, found));
    let path_encoded = fields
        .take("path_encoded")
        .map_or(Some(PathEncoded::Fold), |node| settings::path_encoded(node, found));
    let answers =
        fields.take("answers").map_or(Some(AnswerSettings::default()), |node| settings::answers(node, found));
    let (client_address_line, client_address) = match fields.take("client_address") {
        Some(node) => (node.head().line, settings::client_address(node, found)),
        None => (1, Some(ClientAddressSettings::default())),
    };
    let jwt = fields.take("jwt").map(|node| jwt::read(node, found));
    let store = fields.take_with_place("store").map(|(place, node)| (place.line, store::read(node, found)));
    let switches =
        fields.take("kill_switches").map_or(Some(Vec::new()), |node| kill_switch::read(node, found));
    let rules = fields.need("rules", "the policy", cure, found).and_then(|node| rules(node, found));
    store::refuse_fields_of_rules(&mut fields, "a policy", found);
    fields.refuse_rest("a policy", &FIELDS, found);
    let mut names = Names::default();
    if let Some(rules) = root.field("rules") {
        typed_names(rules, &mut names, found);
    }
    let entries = named(rules?, names, found)?;
    let policy = Policy {
        name: name?,
        mode: mode?,
        rules: Vec::new(),
        groups: Vec::new(),
        kill_switches: switches?,
        path_encoded: path_encoded?,
        answers: answers?,
        client_address: client_address?,
        client_address_line,
        jwt: match jwt {
            Some(jwt) => Some(jwt?),
            None => None,
        },
        store_line: store.as_ref().map_or(1, |(line, _)| *line),
        store: match store {
            Some((_, store)) => Some(store?),
            None => None,
        },
    };
    Some(TypedPolicy { policy, entries })
}

/// The entries of a list of rules; those with mistakes are left out.
fn rules(node: &Node<'_>, found: &mut Found) -> Option<Vec<Entry>> {
    let Kind::List(items) = &node.kind else {
        found.unfit(
            node,
            "rules",
            "a list",
            "write a list of rules: each begins with a dash, or all stand in brackets",
        );
        return None;
    };
    if items.is_empty() {
        found.add(
            node.place,
            "`rules` is an empty list",
            "write at least one rule; to switch a policy off, write `mode: off`",
        );
        return None;
    }
    if items.len() > RULES_MAX {
        too_many(items.len(), found);
        return None;
    }
    Some(items.iter().filter_map(|item| group::read(item, found)).collect())
}

/// Reads what one entry of the list says: a rule or a group, with names; `None` after a mistake.
pub(super) fn entry(root: &Node<'_>, found: &mut Found) -> Option<Entry> {
    let entry = group::read(root, found);
    let mut names = Names::default();
    typed_names(root, &mut names, found);
    named(vec![entry?], names, found)?.pop()
}

/// The names that were typed, also those of rules that are no rules: one name twice is a mistake of its own.
fn typed_names(node: &Node<'_>, names: &mut Names, found: &mut Found) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| typed_names(item, names, found)),
        Kind::Map(_) => match (node.field("rules"), node.field("name")) {
            (Some(rules), _) => typed_names(rules, names, found),
            (None, Some(name)) => {
                if let Some(text) = name.scalar().filter(|text| !text.is_empty()) {
                    names.take(text, "rule", true, name.place, found);
                }
            }
            (None, None) => {}
        },
        _ => {}
    }
}

/// Names every rule that has no name; two rules or two groups of one name are a mistake.
fn named(mut entries: Vec<Entry>, mut names: Names, found: &mut Found) -> Option<Vec<Entry>> {
    let mut group_names = Names::default();
    let mut count = 0;
    for entry in &mut entries {
        if let Entry::Group(group) = entry {
            group_names.take(&group.name, "group", true, group.place, found);
        }
        for typed in entry.rules_mut() {
            count += 1;
            if typed.make_name() {
                names.take(&typed.rule.name, "rule", false, typed.head, found);
            }
        }
    }
    if count > RULES_MAX {
        too_many(count, found);
        return None;
    }
    Some(entries)
}

/// Puts rules that have names into their groups.
pub(super) fn arrange(entries: Vec<Entry>) -> (Vec<Rule>, Vec<Group>) {
    let (mut rules, mut groups, mut is_written_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |typed: TypedRule, group: Option<usize>, is_grouped: bool| {
        rules.push(Rule { group, ..typed.rule });
        is_written_out.push(is_grouped);
        rules.len() - 1
    };
    for entry in entries {
        match entry {
            Entry::Rule(typed) => {
                add(*typed, None, false);
            }
            Entry::Group(TypedGroup { name, is_first, rules, .. }) => {
                let group = is_first.then_some(groups.len());
                let members = rules.into_iter().map(|typed| add(typed, group, true)).collect();
                if is_first {
                    groups.push(Group { name, rules: members, is_implicit: false });
                }
            }
        }
    }
    default_tier::group_tiers(&mut rules, &mut groups, &is_written_out);
    (rules, groups)
}

fn too_many(rules: usize, found: &mut Found) {
    let place = super::tree::Place { start: 0, end: 0, line: 1 };
    let cure = format!("write at most {RULES_MAX}; one rule and a key serve many clients");
    found.add_to_whole(place, format!("the policy has {rules} rules"), cure);
}
