//! What a policy is put together from: the text of the file, the rule set of the database, and the orders that stand.
//!
//! A part that cannot be used does not keep the others from being used: whoever is to be blocked is blocked, though somebody has broken a
//! rule meanwhile.

use std::collections::HashSet;
use std::sync::Arc;

use tollgate::policy::{
    Composition, Mistake, Mistakes, ORDERS_STANDING_MAX, Policy, Source, Sources, StandingOrder, Stop,
};

use crate::filed::{Filed, FiledRules};
use crate::policy_source::{PolicyFault, PolicyText, short_hash};

/// How often orders with mistakes are looked for.
const ROUNDS_MAX: usize = 8;

/// The parts of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) text: PolicyText,
    pub(crate) rules: Arc<FiledRules>,
    /// Those that stand.
    pub(crate) orders: Arc<Vec<StandingOrder>>,
}

impl Parts {
    /// The text with what the database says at this time, in seconds since 1970.
    pub(crate) fn new(text: PolicyText, filed: &Filed, now_unix_s: i64) -> Parts {
        let stands = |order: &StandingOrder| order.expires.is_none_or(|expires| expires > now_unix_s);
        let orders = if filed.orders.iter().all(stands) {
            Arc::clone(&filed.orders)
        } else {
            Arc::new(filed.orders.iter().filter(|order| stands(order)).cloned().collect())
        };
        Parts { text, rules: Arc::clone(&filed.rules), orders }
    }

    /// The policy that they make.
    pub(crate) fn compose(&self, now_unix_s: i64) -> Result<Composition, PolicyFault> {
        self.compose_until(now_unix_s, &Stop::default())
    }

    /// Composes the policy, and stops with an error as soon as another thread asks for it.
    pub(crate) fn compose_until(&self, now_unix_s: i64, stop: &Stop) -> Result<Composition, PolicyFault> {
        let sources = Sources {
            file: Some((&self.text.name, &self.text.text)),
            entries: &self.rules.entries,
            plain_rows: &self.rules.rows,
            orders: &self.orders,
            now_unix_s,
            stop: Some(stop),
        };
        Policy::compose(&sources).map_err(PolicyFault::Mistakes)
    }

    /// The same without the orders that have mistakes, such as those about a rule that is gone, and without those that are too many.
    pub(crate) fn with_sound_orders(self, now_unix_s: i64) -> Parts {
        self.with_sound_orders_until(now_unix_s, &Stop::default())
    }

    /// The same; as soon as another thread asks to stop, the orders stay as they are.
    pub(crate) fn with_sound_orders_until(mut self, now_unix_s: i64, stop: &Stop) -> Parts {
        self.keep_orders(|at, _| at < ORDERS_STANDING_MAX);
        // Not all mistakes are shown at once.
        for _ in 0..ROUNDS_MAX {
            let Err(PolicyFault::Mistakes(mistakes)) = self.compose_until(now_unix_s, stop) else {
                return self;
            };
            let broken: HashSet<i64> = mistakes.iter().filter_map(of_order).collect();
            if broken.is_empty() {
                return self;
            }
            self.keep_orders(|_, order| !broken.contains(&order.id));
        }
        // So many are about rules that are gone: whoever is blocked by name or address stays so.
        self.keep_orders(|_, order| order.order.rule().is_none());
        self
    }

    fn keep_orders(&mut self, is_kept: impl Fn(usize, &StandingOrder) -> bool) {
        let kept = self.orders.iter().enumerate().filter(|(at, order)| is_kept(*at, order));
        let kept: Vec<StandingOrder> = kept.map(|(_, order)| order.clone()).collect();
        if kept.len() < self.orders.len() {
            self.orders = Arc::new(kept);
        }
    }

    /// What to put in force if these are refused for a fault and `good` ones are in force: as many of these as can be, orders before all.
    /// Orders that nothing but themselves is wrong with keep nothing else from coming into force. What is in force comes last.
    pub(crate) fn fallbacks(
        &self,
        fault: &PolicyFault,
        good: &Parts,
        now_unix_s: i64,
    ) -> impl Iterator<Item = Parts> {
        let is_of_orders = |mistakes: &Mistakes| mistakes.iter().all(|mistake| of_order(mistake).is_some());
        let is_of_orders = matches!(fault, PolicyFault::Mistakes(mistakes) if is_of_orders(mistakes));
        let of = |orders: &Arc<Vec<StandingOrder>>| {
            [
                (&self.text, &self.rules),
                (&self.text, &good.rules),
                (&good.text, &self.rules),
                (&good.text, &good.rules),
            ]
            .map(|(text, rules)| Parts {
                text: text.clone(),
                rules: Arc::clone(rules),
                orders: Arc::clone(orders),
            })
        };
        let (wanted, kept) = (of(&self.orders), of(&good.orders));
        // To look for sound orders is work, so it is done when nothing before was of use.
        let sound = move |parts: Parts| parts.with_sound_orders(now_unix_s);
        let first = is_of_orders.then(|| self.clone()).into_iter().map(sound);
        first.chain(wanted.clone()).chain(wanted.into_iter().map(sound)).chain(kept)
    }

    /// Tells one policy from another: that of the text where there is nothing else.
    pub(crate) fn hash(&self) -> String {
        if self.rules.is_empty() && self.orders.is_empty() {
            return self.text.hash();
        }
        let FiledRules { entries, rows, .. } = &*self.rules;
        short_hash(&format!("{}\0{entries:?}{rows:?}{:?}", self.text.text, self.orders))
    }

    /// Tells one text and rule set from another, whatever is ordered.
    pub(crate) fn hash_without_orders(&self) -> String {
        Parts { orders: Arc::default(), ..self.clone() }.hash()
    }
}

/// The order that a mistake is of.
fn of_order(mistake: &Mistake) -> Option<i64> {
    match mistake.source {
        Source::Order(id) => Some(id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tollgate::policy::{Entry, Mode, Order, PlainRow, Who};

    use super::*;

    fn parts(text: &str, entry: &str, orders: i64) -> Parts {
        let text = PolicyText { name: "p".to_owned(), text: text.to_owned() };
        let entry = Entry { name: entry.to_owned(), text: entry.to_owned(), is_active: true };
        let rules = FiledRules { entries: vec![entry], ..FiledRules::default() };
        Parts { text, rules: Arc::new(rules), orders: Arc::new((0..orders).map(order).collect()) }
    }

    fn order(id: i64) -> StandingOrder {
        let (reason, author) = ("why".to_owned(), "who".to_owned());
        StandingOrder { id, order: Order::KillSwitch { rule: None }, reason, author, expires: Some(id + 10) }
    }

    fn text() -> PolicyText {
        PolicyText { name: "p".to_owned(), text: "{name: api, scope: ip, rate: 1, burst: 1}".to_owned() }
    }

    /// Blocks somebody, for good.
    fn block(id: i64) -> StandingOrder {
        let who = Who::User(id.to_string());
        StandingOrder { order: Order::Block { who }, expires: None, ..order(id) }
    }

    fn unread() -> PolicyFault {
        PolicyFault::Unread { path: "p".into(), why: "gone".to_owned() }
    }

    #[test]
    fn an_order_about_a_rule_that_is_gone_keeps_no_other_from_being_in_force() {
        let of_rule = |id, rule: &str| StandingOrder {
            order: Order::KillSwitch { rule: Some(rule.to_owned()) },
            expires: None,
            ..order(id)
        };
        let orders = Arc::new(vec![of_rule(1, "api"), of_rule(2, "gone")]);
        let wanted = Parts { text: text(), rules: Arc::default(), orders };
        let fault = wanted.compose(0).unwrap_err();
        let first = wanted.fallbacks(&fault, &wanted, 0).next().unwrap();
        assert_eq!(first.orders.iter().map(|order| order.id).collect::<Vec<_>>(), [1]);
        assert!(first.compose(0).is_ok());
    }

    #[test]
    fn orders_are_the_last_to_be_given_up_and_what_is_in_force_comes_last() {
        let (wanted, good) = (parts("new", "new", 1), parts("old", "old", 0));
        let said =
            |parts: Parts| (parts.text.text.clone(), parts.rules.entries[0].name.clone(), parts.orders.len());
        let fallbacks: Vec<_> = wanted.fallbacks(&unread(), &good, 0).map(said).collect();
        let combined = [("new", "new"), ("new", "old"), ("old", "new"), ("old", "old")];
        let with = |orders| combined.map(|(text, rules)| (text.to_owned(), rules.to_owned(), orders));
        // Those of the middle have the orders that are sound, which is all.
        assert_eq!(fallbacks, [with(1), with(1), with(0)].concat());
    }

    #[test]
    fn of_too_many_orders_all_but_the_last_are_in_force() {
        let orders = Arc::new((1..=20_010).map(block).collect());
        let sound = Parts { text: text(), rules: Arc::default(), orders }.with_sound_orders(0);
        assert!(sound.compose(0).is_ok());
        assert_eq!(sound.orders.len(), ORDERS_STANDING_MAX);
    }

    #[test]
    fn whoever_is_blocked_stays_so_however_many_orders_are_about_rules_that_are_gone() {
        let of_rule = |id| StandingOrder {
            order: Order::KillSwitch { rule: Some(format!("gone-{id}")) },
            expires: None,
            ..order(id)
        };
        let orders = Arc::new((2..=2_000).map(of_rule).chain([block(1)]).collect());
        let sound = Parts { text: text(), rules: Arc::default(), orders }.with_sound_orders(0);
        assert!(sound.compose(0).is_ok());
        assert_eq!(sound.orders.iter().map(|order| order.id).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn after_a_restart_a_broken_row_and_an_order_about_another_row_lift_no_block() {
        let row = |rule_id, key_pattern: &str| PlainRow {
            rule_id,
            key_pattern: key_pattern.to_owned(),
            scope: "global".to_owned(),
            rate_per_second: "1".to_owned(),
            burst_capacity: "3".to_owned(),
            is_active: true,
            ..PlainRow::default()
        };
        let rows = vec![row(1, "global"), row(2, "nonsense:{")];
        let rules = Arc::new(FiledRules { rows, ..FiledRules::default() });
        let of_row = Order::Mode { rule: "global-1".to_owned(), mode: Mode::Shadow };
        let of_row = StandingOrder { order: of_row, expires: None, ..order(2) };
        let wanted = Parts { text: text(), rules, orders: Arc::new(vec![block(1), of_row]) };
        let at_start = Parts { text: text(), rules: Arc::default(), orders: Arc::default() };
        let fault = wanted.compose(0).unwrap_err();
        let in_force = wanted.fallbacks(&fault, &at_start, 0).find(|parts| parts.compose(0).is_ok()).unwrap();
        assert!(in_force.orders.iter().any(|order| order.id == 1), "{:?}", in_force.orders);
    }

    #[test]
    fn an_order_is_nothing_from_its_last_second_on() {
        let filed = Filed { orders: Arc::new(vec![order(0), order(5)]), ..Filed::default() };
        let at = |now| {
            Parts::new(PolicyText { name: String::new(), text: String::new() }, &filed, now).orders.len()
        };
        assert_eq!((at(9), at(10), at(14), at(15)), (2, 1, 1, 0));
    }

    #[test]
    fn the_hash_is_that_of_the_text_until_the_database_says_something() {
        let text = PolicyText { name: "p".to_owned(), text: "a".to_owned() };
        let alone = Parts::new(text.clone(), &Filed::default(), 0);
        assert_eq!(alone.hash(), text.hash());
        let ordered = Parts { orders: Arc::new(vec![order(1)]), ..alone.clone() };
        assert_ne!(ordered.hash(), alone.hash());
    }
}
