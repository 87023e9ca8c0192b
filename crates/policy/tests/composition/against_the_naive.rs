//! Precedence by the shortest way: a walk over the sources as they are, against what a composition rules.

use fastrand::Rng;
use tollgate_policy::{Entry, Facts, Mode, Order, PlainRow, Sources, StandingOrder, Who};

use super::{NOW_UNIX_S, compose, met, order, override_of, row, user};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const USERS: [&str; 3] = ["ann", "bob", "eve"];
const PATHS: [&str; 2] = ["/x", "/y"];

/// A rule of a file or an entry: every request to one path, or to all.
#[derive(Debug, Clone)]
struct Listed {
    name: &'static str,
    path: Option<&'static str>,
    mode: Mode,
}

/// Everything that has a say, before it is text.
#[derive(Debug, Default)]
struct Said {
    file: Vec<Listed>,
    entries: Vec<(Listed, bool)>,
    rows: Vec<PlainRow>,
    orders: Vec<StandingOrder>,
}

impl Listed {
    fn random(rng: &mut Rng, name: &'static str) -> Listed {
        let mode = [Mode::Enforce, Mode::Enforce, Mode::Shadow, Mode::Off][rng.usize(..4)];
        Listed { name, path: rng.bool().then(|| PATHS[rng.usize(..2)]), mode }
    }

    fn text(&self) -> String {
        let path = self.path.map(|path| format!("path: {path}, ")).unwrap_or_default();
        format!("{{name: {}, scope: user, {path}mode: {}, rate: 1, burst: 1}}", self.name, self.mode.name())
    }
}

impl Said {
    fn random(rng: &mut Rng) -> Said {
        let mut said = Said::default();
        for name in NAMES {
            if rng.bool() {
                said.file.push(Listed::random(rng, name));
            }
            if rng.u8(..3) == 0 {
                said.entries.push((Listed::random(rng, name), rng.bool()));
            }
        }
        rng.shuffle(&mut said.file);
        rng.shuffle(&mut said.entries);
        let plans = [None, Some("free"), Some("pro")];
        for (id, plan) in (1..).zip(plans) {
            if rng.bool() {
                let row = row(id, "user:{user_id}", "user", "1", "1", plan);
                said.rows.push(PlainRow { is_active: rng.u8(..4) > 0, ..row });
            }
        }
        rng.shuffle(&mut said.rows);
        for id in 1..=rng.i64(1..6) {
            said.add_order(id, rng);
        }
        rng.shuffle(&mut said.orders);
        said
    }

    /// Names of every rule, in order, with what it governs and its mode; inactive ones are off.
    fn rules(&self) -> Vec<(String, Option<&'static str>, Option<&str>, Mode)> {
        let mode = |listed: &Listed, is_active: bool| if is_active { listed.mode } else { Mode::Off };
        let mut rules = Vec::new();
        for listed in &self.file {
            let entry = self.entries.iter().find(|(entry, _)| entry.name == listed.name);
            let (listed, is_active) = entry.map_or((listed, true), |(entry, is_active)| (entry, *is_active));
            rules.push((listed.name.to_owned(), listed.path, None, mode(listed, is_active)));
        }
        let mut new: Vec<_> = self
            .entries
            .iter()
            .filter(|(entry, _)| self.file.iter().all(|listed| listed.name != entry.name))
            .collect();
        new.sort_by_key(|(entry, _)| entry.name);
        rules
            .extend(new.iter().map(|(entry, is_active)| {
                (entry.name.to_owned(), entry.path, None, mode(entry, *is_active))
            }));
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.rule_id);
        rules.extend(rows.iter().map(|row| {
            let mode = if row.is_active { Mode::Enforce } else { Mode::Off };
            (format!("user-{}", row.rule_id), None, row.plan.as_deref(), mode)
        }));
        rules
    }

    fn add_order(&mut self, id: i64, rng: &mut Rng) {
        let who = match rng.u8(..3) {
            0 => Who::Address([192, 0, 2, rng.u8(..2)].into()),
            1 => Who::Network("192.0.2.0/31".parse().unwrap()),
            _ => user(USERS[rng.usize(..3)]),
        };
        let rules = self.rules();
        let rule = (!rules.is_empty()).then(|| rules[rng.usize(..rules.len())].0.clone());
        let what = match (rng.u8(..8), rule) {
            (0, _) => Order::Block { who },
            (1, _) => Order::Allow { who },
            (2, rule) if rng.u8(..4) == 0 => Order::KillSwitch { rule },
            (3 | 4, Some(rule)) => {
                Order::Mode { rule, mode: [Mode::Enforce, Mode::Shadow, Mode::Off][rng.usize(..3)] }
            }
            (5.., Some(rule)) => override_of(&rule, who, "1", "5"),
            _ => return,
        };
        let expires = (rng.u8(..4) == 0).then(|| NOW_UNIX_S + rng.i64(-1..2));
        self.orders.push(StandingOrder { expires, ..order(id, what) });
    }

    /// What a request meets, by the precedence as it is documented.
    fn met(&self, facts: &Facts<'_>) -> Vec<String> {
        let mut orders: Vec<_> = self
            .orders
            .iter()
            .filter(|order| order.expires.is_none_or(|expires| expires > NOW_UNIX_S))
            .collect();
        orders.sort_by_key(|order| order.id);
        let is = |who: &Who| match who {
            Who::User(user) => facts.user == Some(user),
            Who::Address(address) => facts.address == Some(*address),
            Who::Network(network) => network.contains(&facts.address.unwrap()),
            Who::Key { .. } => unreachable!("no order names a key here"),
        };
        let governs = |path: Option<&str>, plan: Option<&str>| {
            path.is_none_or(|path| facts.target == path) && plan.is_none_or(|plan| facts.plan == Some(plan))
        };
        let rules = self.rules();
        let mode_of = |name: &str, typed: Mode| {
            let is_inactive = self.entries.iter().any(|(entry, is_active)| entry.name == name && !is_active)
                || self.rows.iter().any(|row| format!("user-{}", row.rule_id) == name && !row.is_active);
            let ordered = orders.iter().rev().find_map(|order| match &order.order {
                Order::Mode { rule, mode } if rule == name && !is_inactive => Some(*mode),
                _ => None,
            });
            ordered.unwrap_or(typed)
        };
        // A row that a tier before it takes is not governed by: rows with a plan come first.
        let is_taken = |name: &str, plan: Option<&str>| {
            name.starts_with("user-")
                && plan.is_none()
                && rules.iter().any(|(other, path, tier, typed)| {
                    tier.is_some() && governs(*path, *tier) && mode_of(other, *typed) == Mode::Enforce
                })
        };
        for order in &orders {
            let kills = match &order.order {
                Order::KillSwitch { rule: None } => true,
                Order::KillSwitch { rule: Some(rule) } => {
                    let (name, path, plan, _) = rules.iter().find(|(name, ..)| name == rule).unwrap();
                    governs(*path, *plan) && !is_taken(name, *plan)
                }
                _ => false,
            };
            if kills {
                return vec![format!("killed by order-{}", order.id)];
            }
        }
        if let Some(order) =
            orders.iter().find(|order| matches!(&order.order, Order::Block { who } if is(who)))
        {
            return vec![format!("blocked by order-{}", order.id)];
        }
        if let Some(order) =
            orders.iter().find(|order| matches!(&order.order, Order::Allow { who } if is(who)))
        {
            return vec![format!("allowed by order-{}", order.id)];
        }
        let mut met = Vec::new();
        let mut watches_before = false;
        let (others, mut tiers): (Vec<_>, Vec<_>) =
            rules.iter().partition(|(name, ..)| !name.starts_with("user-"));
        tiers.sort_by_key(|(_, _, plan, _)| plan.is_none());
        for (name, path, plan, typed) in others.into_iter().chain(tiers) {
            let mode = mode_of(name, *typed);
            if mode == Mode::Off || !governs(*path, *plan) || is_taken(name, *plan) {
                continue;
            }
            if name.starts_with("user-")
                && mode == Mode::Shadow
                && std::mem::replace(&mut watches_before, true)
            {
                continue;
            }
            watches_before |= name.starts_with("user-");
            let instead = orders.iter().rev().find(
                |order| matches!(&order.order, Order::Override { rule, who, .. } if rule == name && is(who)),
            );
            let name = instead.map_or_else(|| name.clone(), |order| format!("order-{}", order.id));
            met.push(if mode == Mode::Shadow { format!("({name})") } else { name });
        }
        met
    }
}

#[test]
fn a_composition_rules_as_a_walk_over_its_sources_does() {
    let mut seen = [0_usize; 5];
    for seed in 0..4_000 {
        let mut rng = Rng::with_seed(seed);
        let said = Said::random(&mut rng);
        let listed: Vec<String> = said.file.iter().map(Listed::text).collect();
        let text = format!("[{}]", listed.join(", "));
        let entries: Vec<Entry> = said
            .entries
            .iter()
            .map(|(entry, is_active)| Entry {
                name: entry.name.to_owned(),
                text: entry.text(),
                is_active: *is_active,
            })
            .collect();
        let policy = compose(Sources {
            file: (!listed.is_empty()).then_some(("p.yaml", text.as_str())),
            entries: &entries,
            plain_rows: &said.rows,
            orders: &said.orders,
            ..Sources::default()
        })
        .policy;
        for user in USERS {
            let facts = Facts {
                user: Some(user),
                plan: [None, Some("free"), Some("pro")][rng.usize(..3)],
                address: Some([192, 0, 2, rng.u8(..3)].into()),
                ..Facts::new("GET", PATHS[rng.usize(..2)])
            };
            let ruled = met(&policy, &facts);
            assert_eq!(ruled, said.met(&facts), "seed {seed}, {user}: {said:#?}");
            for (count, word) in seen.iter_mut().zip(["killed", "blocked", "allowed", "order-", "("]) {
                *count += usize::from(ruled.iter().any(|met| met.starts_with(word)));
            }
        }
    }
    assert!(seen.iter().all(|times| *times > 100), "everything occurs: {seen:?}");
}
