//! Puts a policy together: what the file lists, entries in their places, plain rows behind, then what was ordered.
//!
//! Each source keeps its mistakes to itself until the end, so that all are told, in order.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::regex::PatternBudget;
use crate::{Composition, ORDERS_STANDING_MAX, Rule, Source, Sources};

use super::document::{RULES_MAX, TypedPolicy};
use super::entry::ReadEntry;
use super::found::Found;
use super::group::{self, TypedGroup};
use super::mistakes::Mistakes;
use super::order::{self, Named, ReadOrder};
use super::patterns;
use super::plain_row::{KEY_PATTERN, RULE_ID, ReadRow};
use super::rule::TypedRule;
use super::standing::{self, Effects};
use super::tree::{Place, cut};

/// See [`crate::Policy::compose`].
pub(crate) fn compose(sources: &Sources<'_>) -> Result<Composition, Mistakes> {
    let mut drafting = Drafting::of(sources);
    let typed = drafting.typed();
    let mut policy = typed.arranged();
    let (effects, next_expiry_unix_s) = drafting.orders(sources, &policy.rules);
    let Drafting { mut notes, mistakes, .. } = drafting;
    if mistakes.count() > 0 {
        return Err(mistakes);
    }
    standing::obey(&mut policy, effects, &inactive(sources), &mut notes);
    let (file_name, text) = sources.file.unwrap_or_default();
    patterns::check_worst_request(file_name, text, &policy)?;
    Ok(Composition { policy, notes, next_expiry_unix_s })
}

/// Every entry and row that is not active.
fn inactive(sources: &Sources<'_>) -> HashSet<Source> {
    let entries = sources.entries.iter().filter(|entry| !entry.is_active);
    let rows = sources.plain_rows.iter().filter(|row| !row.is_active);
    let entries = entries.map(|entry| Source::Entry(entry.name.as_str().into()));
    entries.chain(rows.map(|row| Source::Row(row.rule_id))).collect()
}

/// What is known while a policy is put together.
struct Drafting<'a> {
    file_name: &'a str,
    file: Option<TypedPolicy>,
    entries: Vec<ReadEntry<'a>>,
    rows: Vec<ReadRow<'a>>,
    notes: Vec<String>,
    mistakes: Mistakes,
}

impl<'a> Drafting<'a> {
    /// Reads everything but the orders.
    fn of(sources: &Sources<'a>) -> Drafting<'a> {
        let file_name = sources.file.map_or("", |(name, _)| name);
        let mut mistakes = Mistakes::none(file_name);
        let patterns = Rc::new(PatternBudget::until(sources.stop.cloned().unwrap_or_default()));
        let file = match sources.file {
            Some((name, text)) => {
                TypedPolicy::parse(name, text, &patterns).map_err(|wrong| mistakes.extend(wrong)).ok()
            }
            None => Some(TypedPolicy::empty()),
        };
        let mut entries: Vec<_> =
            sources.entries.iter().map(|entry| ReadEntry::read(entry, &patterns)).collect();
        entries.sort_by(|a, b| a.name.cmp(b.name));
        entries.iter_mut().for_each(ReadEntry::check_name);
        let mut rows: Vec<_> = sources.plain_rows.iter().map(|row| ReadRow::read(row, &patterns)).collect();
        rows.sort_by_key(|row| row.row.rule_id);
        refuse_same(&mut entries, &mut rows);
        Drafting { file_name, file, entries, rows, notes: Vec::new(), mistakes }
    }

    /// The policy without orders, as far as it could be read; the mistakes of all that it is made of are kept.
    fn typed(&mut self) -> TypedPolicy {
        let mut typed = self.file.take().unwrap_or_else(TypedPolicy::empty);
        let mut added = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_active) {
            self.notes.push(format!("entry \"{}\" is inactive", entry.name.escape_debug()));
        }
        for entry in &mut self.entries {
            let Some(item) = entry.item.take() else { continue };
            match stand_in(item, &mut typed.entries) {
                Ok(for_what) => self.notes.push(format!(
                    "entry \"{}\" stands in for {for_what} of {}",
                    entry.name.escape_debug(),
                    self.file_name
                )),
                Err(item) => added.push(*item),
            }
        }
        typed.entries.append(&mut added);
        typed.entries.append(&mut self.rows_as_groups());
        self.refuse_taken_names(&typed.entries);
        for entry in self.entries.drain(..).filter(|entry| !entry.found.is_empty()) {
            self.mistakes.extend(entry.mistakes());
        }
        for row in self.rows.drain(..).filter(|row| !row.found.is_empty()) {
            self.mistakes.extend(row.mistakes());
        }
        typed
    }

    /// The rules of rows: those of one pattern are a group, in which the row without a plan is the last.
    fn rows_as_groups(&mut self) -> Vec<group::Entry> {
        let mut groups: Vec<(TypedGroup, Vec<TypedRule>)> = Vec::new();
        let mut by_meaning: HashMap<&str, usize> = HashMap::new();
        for read in &mut self.rows {
            if !read.row.is_active {
                self.notes.push(format!("row {} is inactive", read.row.rule_id));
            }
            let Some(typed) = read.rule.take() else { continue };
            let at = *by_meaning.entry(&read.meaning).or_insert_with(|| {
                let name = read.row.key_pattern.as_str().into();
                let group = TypedGroup { name, place: typed.head, is_first: false, rules: Vec::new() };
                groups.push((group, Vec::new()));
                groups.len() - 1
            });
            let (group, last) = &mut groups[at];
            if read.row.plan.is_some() { group.rules.push(typed) } else { last.push(typed) }
        }
        let whole = groups.into_iter().map(|(mut group, mut last)| {
            group.rules.append(&mut last);
            // Alone it is in no group, but no tier of anybody else's rules either.
            group.is_first = group.rules.len() > 1;
            group::Entry::Group(group)
        });
        whole.collect()
    }

    /// Two rules of one name, from different sources: the later source is to blame.
    fn refuse_taken_names(&mut self, items: &[group::Entry]) {
        let mut rules: Vec<&TypedRule> = items.iter().flat_map(group::Entry::rules).collect();
        rules.sort_by(|a, b| a.rule.source.cmp(&b.rule.source));
        let mut taken: HashMap<&str, &Rule> = HashMap::new();
        for TypedRule { rule, head, .. } in rules.iter().copied() {
            let Some(first) = taken.get(&*rule.name).copied() else {
                taken.insert(&rule.name, rule);
                continue;
            };
            // One source says by itself that it has a name twice.
            if first.source != rule.source {
                let what = format!("the name `{}` is taken by the rule {}", rule.name, self.place_of(first));
                self.blame(&rule.source, *head, what);
            }
        }
        let count = rules.len();
        if count > RULES_MAX {
            let mut found = Found::default();
            let place = Place { start: 0, end: 0, line: 1 };
            let what = format!("there are {count} rules, with those of entries and rows");
            let cure = format!("keep at most {RULES_MAX}; one rule and a key serve many clients");
            found.add_to_whole(place, what, cure);
            self.mistakes.extend(Mistakes::new(self.file_name, "", None, found));
        }
    }

    /// Where a rule begins, with the name of the file.
    fn place_of(&self, rule: &Rule) -> String {
        match rule.source {
            Source::File => format!("{} of {}", rule.place_text(), self.file_name),
            _ => rule.place_text(),
        }
    }

    fn blame(&mut self, source: &Source, place: Place, what: String) {
        let cure = "give each a name of its own: balances and reports go by it";
        match source {
            Source::Entry(name) => {
                if let Some(entry) = self.entries.iter_mut().find(|entry| *entry.name == **name) {
                    entry.add(place, what, cure.to_owned());
                }
            }
            Source::Row(id) => {
                if let Some(row) = self.rows.iter_mut().find(|row| row.row.rule_id == *id) {
                    row.add(
                        RULE_ID,
                        what,
                        "rename the other: the name of a row's rule is made of its number".to_owned(),
                    );
                }
            }
            Source::File | Source::Order(_) => {}
        }
    }

    /// What the orders that have not expired do, by number, and when the next of them expires.
    fn orders<'o>(&mut self, sources: &Sources<'o>, rules: &[Rule]) -> (Effects<'o>, Option<i64>) {
        let mut orders: Vec<_> = sources.orders.iter().collect();
        orders.sort_by_key(|order| order.id);
        let has_expired = |expires: i64| expires <= sources.now_unix_s;
        orders.retain(|order| {
            let is_past = order.expires.is_some_and(has_expired);
            if is_past {
                self.notes.push(format!("order {} has expired", order.id));
            }
            !is_past
        });
        let mut named = Named::new(rules, self.mistakes.count() > 0);
        let mut effects = Effects::new();
        let mut before = None;
        for (at, order) in orders.iter().copied().enumerate() {
            let mut read = ReadOrder::read(order, &mut named);
            if before.replace(order.id) == Some(order.id) {
                read.add(format!("there are two orders {}", order.id), "give each a number of its own");
            } else if at == ORDERS_STANDING_MAX {
                let what = format!("there are {} orders", orders.len());
                read.add(what, "revoke those that nobody needs, and join addresses to networks");
            }
            if order::is_one_of_many(&order.order) {
                let id = order.id;
                self.notes.push(format!(
                    "order {id} is about one IPv6 address, and its client has 2^64: order its /64"
                ));
            }
            if let Some(effect) = read.effect.take() {
                effects.push((order, effect));
            }
            if let Some(wrong) = read.mistakes() {
                self.mistakes.extend(wrong);
            }
        }
        (effects, orders.iter().filter_map(|order| order.expires).min())
    }
}

/// Puts an entry where the rule or group of its name is, and says what that was; or gives it back.
fn stand_in(item: group::Entry, listed: &mut [group::Entry]) -> Result<String, Box<group::Entry>> {
    let place_text = |rule: &Rule| format!("the rule `{}` {}", rule.name, rule.place_text());
    match item {
        group::Entry::Rule(typed) => {
            let is_it = |listed: &&mut TypedRule| listed.rule.name == typed.rule.name;
            match listed.iter_mut().flat_map(group::Entry::rules_mut).find(is_it) {
                Some(place) if place.rule.source == Source::File => {
                    let was = place_text(&place.rule);
                    *place = *typed;
                    Ok(was)
                }
                _ => Err(Box::new(group::Entry::Rule(typed))),
            }
        }
        group::Entry::Group(group) => {
            let place = listed.iter_mut().find_map(|listed| match listed {
                group::Entry::Group(listed) if listed.name == group.name => Some(listed),
                _ => None,
            });
            match place {
                Some(place) => {
                    let was = format!("the group `{}` on line {}", cut(&place.name), place.place.line);
                    *place = group;
                    Ok(was)
                }
                None => Err(Box::new(group::Entry::Group(group))),
            }
        }
    }
}

/// Two entries of one name, two rows of one number, and two rows of one pattern and plan are mistakes.
fn refuse_same(entries: &mut [ReadEntry<'_>], rows: &mut [ReadRow<'_>]) {
    let mut names = HashSet::new();
    for entry in entries.iter_mut().filter(|entry| !names.insert(entry.name)) {
        let what = format!("there are two entries called `{}`", cut(entry.name));
        entry.add(Place { start: 0, end: 0, line: 1 }, what, "delete one of them".to_owned());
    }
    let mut numbers = HashSet::new();
    let mut limits: HashMap<(String, Option<&str>), i64> = HashMap::new();
    for read in rows {
        let row = read.row;
        if !numbers.insert(row.rule_id) {
            read.add(RULE_ID, format!("there are two rows {}", row.rule_id), "delete one of them".to_owned());
        } else if let Some(first) = limits.insert((read.meaning.clone(), row.plan.as_deref()), row.rule_id) {
            let what = format!("row {first} has the same `key_pattern` and `plan`");
            read.add(KEY_PATTERN, what, "delete one of them".to_owned());
        }
    }
}
