//! What a standing order comes to: whom it is about, which rule it names, which figures it gives.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tollgate_core::{Algorithm, Burst, Limit, Tokens};

use crate::{
    Action, Client, KeyShape, Mode, ORDER_REASON_BYTES_MAX, Order, Rule, Source, StandingOrder, Who,
};

use super::found::Found;
use super::limit_fault::{self, Figures};
use super::mistakes::Mistakes;
use super::tree::cut;
use super::{did_you_mean, field_node, field_place, network, rate, tokens};

/// The fields that may be mistaken. Places of mistakes are positions in here.
const FIELDS: [&str; 6] = ["id", "rule", "who", "rate", "burst", "reason"];
const ID: usize = 0;
const RULE: usize = 1;
const WHO: usize = 2;
const RATE: usize = 3;
const BURST: usize = 4;
const REASON: usize = 5;

/// Longest name of a user, in bytes.
const USER_BYTES_MAX: usize = 4_096;
/// Orders may name clients by the keys of so many differently keyed rules: every request is looked up by each.
const SHAPES_MAX: usize = 32;

/// So many rules are asked whether they are meant by a name that is none.
const SUGGESTED_FROM_MAX: usize = 100;

/// What an order does. Rules are positions.
pub(super) enum Effect {
    Block(Client),
    Allow(Client),
    Override { rule: usize, client: Client, limit: Limit },
    Kill { rule: Option<usize> },
    Mode { rule: usize, mode: Mode },
}

/// An order with what became of it.
pub(super) struct ReadOrder<'o> {
    pub(super) order: &'o StandingOrder,
    found: Found,
    /// `None` after a mistake.
    pub(super) effect: Option<Effect>,
}

/// The rules that orders may name.
pub(super) struct Named<'r> {
    rules: &'r [Rule],
    positions: HashMap<&'r str, usize>,
    shapes: HashMap<KeyShape, Arc<KeyShape>>,
    /// Some rules are not here, since they have mistakes: a name that is not found may be one of theirs.
    is_partial: bool,
}

impl<'r> Named<'r> {
    pub(super) fn new(rules: &'r [Rule], is_partial: bool) -> Named<'r> {
        let positions = rules.iter().enumerate().map(|(at, rule)| (&*rule.name, at)).collect();
        Named { rules, positions, shapes: HashMap::new(), is_partial }
    }

    /// The position of a rule, or a mistake.
    fn find(&self, name: &str, field: usize, found: &mut Found) -> Option<usize> {
        let position = self.positions.get(name).copied();
        if position.is_none() && !self.is_partial {
            let names = self.rules.iter().take(SUGGESTED_FROM_MAX).map(|rule| &*rule.name);
            let cure = match did_you_mean::nearest(name, names) {
                Some(near) => format!("name a rule that there is, such as `{near}`, or revoke the order"),
                None => "name a rule that there is, or revoke the order".to_owned(),
            };
            found.add(field_place(field), format!("there is no rule `{}`", cut(name)), cure);
        }
        position
    }
}

impl<'o> ReadOrder<'o> {
    /// Reads an order that has not expired.
    pub(super) fn read(order: &'o StandingOrder, named: &mut Named<'_>) -> ReadOrder<'o> {
        let mut found = Found::default();
        let effect = effect(order, named, &mut found);
        let what = match order.reason.len() {
            _ if order.reason.trim().is_empty() => {
                Some(format!("`reason` is `{}`, which tells nobody why", cut(&order.reason)))
            }
            bytes if bytes > ORDER_REASON_BYTES_MAX => Some(format!("`reason` has {bytes} bytes")),
            _ => None,
        };
        if let Some(what) = what {
            found.add(field_place(REASON), what, format!("say why, in 1 to {ORDER_REASON_BYTES_MAX} bytes"));
        }
        ReadOrder { order, found, effect }
    }

    /// A mistake about the order as a whole.
    pub(super) fn add(&mut self, what: String, cure: &str) {
        self.found.add(field_place(ID), what, cure);
    }

    /// Every mistake; `None` if there is none.
    pub(super) fn mistakes(self) -> Option<Mistakes> {
        let source = Source::Order(self.order.id);
        (!self.found.is_empty()).then(|| Mistakes::of_fields("", &source, &FIELDS, self.found))
    }
}

fn effect(order: &StandingOrder, named: &mut Named<'_>, found: &mut Found) -> Option<Effect> {
    match &order.order {
        Order::Block { who } => everyone_else(client(who, named, found)?, "block", found).map(Effect::Block),
        Order::Allow { who } => everyone_else(client(who, named, found)?, "allow", found).map(Effect::Allow),
        Order::Override { rule, who, rate, burst } => {
            let rule = named.find(rule, RULE, found);
            let client =
                client(who, named, found).and_then(|client| everyone_else(client, "override", found));
            let limit = limit(rate, burst, rule.and_then(|rule| named.rules.get(rule)), found);
            Some(Effect::Override { rule: rule?, client: client?, limit: limit? })
        }
        Order::KillSwitch { rule: None } => Some(Effect::Kill { rule: None }),
        Order::KillSwitch { rule: Some(rule) } => {
            named.find(rule, RULE, found).map(|rule| Effect::Kill { rule: Some(rule) })
        }
        Order::Mode { rule, mode } => {
            named.find(rule, RULE, found).map(|rule| Effect::Mode { rule, mode: *mode })
        }
    }
}

/// The client, unless that is everyone.
fn everyone_else(client: Client, verb: &str, found: &mut Found) -> Option<Client> {
    let is_everyone = match &client {
        Client::Within(network) => network.prefix_len() == 0,
        Client::Key { shape, .. } => shape.keys.is_empty(),
        Client::User(_) => false,
    };
    if is_everyone {
        let cure = match verb {
            "override" => {
                "name a client; to give everyone another limit, change the rule itself, by an entry of its name"
            }
            _ => {
                "name a client; to stop everything, order a kill switch, to let everything through, order the mode `shadow`"
            }
        };
        found.add(field_place(WHO), format!("this would {verb} everyone"), cure);
    }
    (!is_everyone).then_some(client)
}

fn client(who: &Who, named: &mut Named<'_>, found: &mut Found) -> Option<Client> {
    match who {
        Who::User(user) => {
            let is_fit = (1..=USER_BYTES_MAX).contains(&user.len());
            if !is_fit {
                let what = format!("the name of the user has {} bytes", user.len());
                let cure = format!("name a user, in 1 to {USER_BYTES_MAX} bytes");
                found.add(field_place(WHO), what, cure);
            }
            is_fit.then(|| Client::User(user.as_str().into()))
        }
        Who::Address(address) => Some(Client::Within(IpNet::from(address.to_canonical()))),
        Who::Network(network) => network::sound(*network, field_place(WHO), found).map(Client::Within),
        Who::Key { rule, key } => {
            let rule = named.rules.get(named.find(rule, WHO, found)?)?;
            let key =
                rule.key_of(key).map_err(|mistake| found.add(field_place(WHO), mistake.what, mistake.cure));
            let shape = rule.key_shape();
            let count = named.shapes.len();
            if count >= SHAPES_MAX && !named.shapes.contains_key(&shape) {
                let what = format!("orders name keys of more than {SHAPES_MAX} differently keyed rules");
                found.add(field_place(WHO), what, "name the user, the address or the network instead");
                return None;
            }
            let shape = named.shapes.entry(shape).or_insert_with_key(|shape| Arc::new(shape.clone()));
            Some(Client::Key { shape: Arc::clone(shape), key: key.ok()?.into() })
        }
    }
}

/// The limit of an override, which only a token bucket can have.
fn limit(rate: &str, burst: &str, rule: Option<&Rule>, found: &mut Found) -> Option<Limit> {
    let rate = rate::read(&field_node(rate.trim(), RATE, true), "rate", found);
    let burst = tokens::micros(&field_node(burst.trim(), BURST, true), "burst", "50", found);
    if let Some(rule) = rule.filter(|rule| !matches!(rule.action, Action::Limit(Algorithm::TokenBucket(_)))) {
        let what = format!("rule `{}` is no token bucket, and has no rate and burst to override", rule.name);
        found.add(field_place(RULE), what, "change the rule itself, by an entry of its name");
        return None;
    }
    let (rate, burst) = (rate?, burst?);
    let figures =
        Figures { rate: Some(&rate), amount: Some(("burst", field_place(BURST))), head: field_place(RATE) };
    let limit = limit_fault::sound(Limit::new(rate.rate, Burst::micros(burst)), figures, found)?;
    let cost = rule.map(|rule| rule.cost.default).filter(|cost| Tokens::from(*cost) > limit.burst());
    if let Some(cost) = cost {
        let what = format!("a request costs {cost}, and a full bucket would hold {}", limit.burst());
        found.add(field_place(BURST), what, "write at least the cost; to refuse a client, order a block");
        return None;
    }
    Some(limit)
}

/// Whether an order names one IPv6 address of the 2^64 that its client has.
pub(super) fn is_one_of_many(order: &Order) -> bool {
    let (Order::Block { who } | Order::Allow { who } | Order::Override { who, .. }) = order else {
        return false;
    };
    matches!(who, Who::Address(address) if matches!(address.to_canonical(), IpAddr::V6(_)))
}
