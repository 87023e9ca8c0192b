//! Which standing orders are about a client that somebody looks at: who is blocked should not look as if it had tokens left.

use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use serde::Serialize;
use tollgate::policy::{Order, Policy, Rule, StandingOrder, Who};
use tollgate_records::Timestamp;

/// Most orders that are shown of one client.
const ORDERS_MAX: usize = 50;

/// An order, as it is shown with the buckets.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ClientOrder<'o> {
    order_id: i64,
    kind: &'static str,
    reason: &'o str,
    author: &'o str,
    expires_at: Option<Timestamp>,
}

/// A client under a rule, and what its key says of who it is.
struct Client<'r> {
    rule: &'r Rule,
    key: &'r [u8],
    user: Option<String>,
    address: Option<IpAddr>,
}

/// The blocks, allowances and overrides that are about a client of a rule, the newest first. Not known are those of a network where a key does not
/// say the address, and those by a key of other parts.
pub(super) fn about<'o>(
    orders: &'o [StandingOrder],
    policy: &Policy,
    rule: &Rule,
    key: &[u8],
) -> Vec<ClientOrder<'o>> {
    let client = Client::of(rule, key);
    let is_about = |order: &&StandingOrder| match &order.order {
        Order::Block { who } | Order::Allow { who } => client.is(who, policy),
        Order::Override { rule: of, who, .. } => *of == *rule.name && client.is(who, policy),
        Order::KillSwitch { .. } | Order::Mode { .. } => false,
    };
    let mut about: Vec<&StandingOrder> = orders.iter().filter(is_about).collect();
    about.sort_unstable_by_key(|order| std::cmp::Reverse(order.id));
    let shown = |order: &'o StandingOrder| ClientOrder {
        order_id: order.id,
        kind: order.order.kind(),
        reason: &order.reason,
        author: &order.author,
        expires_at: order.expires.map(Timestamp::from_unix_seconds),
    };
    about.into_iter().take(ORDERS_MAX).map(shown).collect()
}

/// The override under which a client of a rule has another limit, if there is one: the later, where there are two. Not known are those
/// of a network, and of a user where a key has other parts, too.
pub(super) fn limiting(orders: &[StandingOrder], rule: &Rule, key: &[u8]) -> Option<String> {
    let client = Client { rule, key, user: None, address: None };
    let is_of_client = |order: &&StandingOrder| {
        let Order::Override { rule: of, who, .. } = &order.order else { return false };
        *of == *rule.name && client.is_all_of(who)
    };
    orders.iter().filter(is_of_client).max_by_key(|order| order.id).map(|order| format!("order-{}", order.id))
}

impl<'r> Client<'r> {
    fn of(rule: &'r Rule, key: &'r [u8]) -> Client<'r> {
        let mut client = Client { rule, key, user: None, address: None };
        let text = rule.keys_text(key).unwrap_or_default();
        // A key of one part is typed as `user:42`, others as `user=42,path=/a`.
        let is_short = text.starts_with("user:") || text.starts_with("ip:");
        if is_short && rule.keys.len() == 1 {
            client.note(text.split_once(':'), false);
        } else {
            text.split(',').for_each(|part| client.note(part.split_once('='), true));
        }
        client
    }

    /// Notes who a part of the key says it is.
    fn note(&mut self, part: Option<(&str, &str)>, is_encoded: bool) {
        let Some((name, value)) = part else { return };
        let value = if is_encoded {
            percent_decode_str(value).decode_utf8_lossy().into_owned()
        } else {
            value.to_owned()
        };
        match name {
            "user" => self.user = Some(value),
            // `ip`, `ip:address` and `ip:prefix`; of a prefix, only if it is one address.
            _ if name.starts_with("ip") => self.address = value.parse().ok().or(self.address),
            _ => {}
        }
    }

    /// Whether an order for these is for this client, as far as its key says.
    fn is(&self, who: &Who, policy: &Policy) -> bool {
        self.is_all_of(who)
            || match who {
                Who::User(user) => self.user.as_ref() == Some(user),
                Who::Address(address) => self.address == Some(*address),
                Who::Network(network) => self.address.is_some_and(|address| network.contains(&address)),
                Who::Key { rule, key } => {
                    let same = |other: &Rule| *other.name == **rule && other.keys == self.rule.keys;
                    policy.rules.iter().any(same) && self.has_key(key)
                }
            }
    }

    /// Whether these are all that the client's key says.
    fn is_all_of(&self, who: &Who) -> bool {
        match who {
            Who::User(user) => self.has_key(&format!("user:{user}")),
            Who::Address(address) => self.has_key(&address.to_string()),
            Who::Key { rule, key } => *self.rule.name == **rule && self.has_key(key),
            Who::Network(_) => false,
        }
    }

    fn has_key(&self, typed: &str) -> bool {
        self.rule.key_of(typed).is_ok_and(|key| key == self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "
rules:
  - {name: per-user, limit_keys: [user], rate: 1/h, burst: 10}
  - {name: also-per-user, limit_keys: [user], rate: 1/h, burst: 10}
  - {name: per-address, limit_keys: ['ip:address'], rate: 1/h, burst: 5}
  - {name: both, limit_keys: [user, 'ip:address'], rate: 1/h, burst: 5}
";

    fn orders() -> Vec<StandingOrder> {
        let key = |rule: &str, key: &str| Who::Key { rule: rule.to_owned(), key: key.to_owned() };
        let other = |rule: &str, who| Order::Override {
            rule: rule.to_owned(),
            who,
            rate: "1".to_owned(),
            burst: "1".to_owned(),
        };
        let user = |user: &str| Who::User(user.to_owned());
        let all = [
            Order::Block { who: user("eve") },
            Order::Allow { who: Who::Address([192, 0, 2, 7].into()) },
            Order::Block { who: Who::Network("192.0.2.0/24".parse().unwrap()) },
            Order::Block { who: key("per-user", "user:ann") },
            other("per-user", user("eve")),
            other("both", user("eve")),
            Order::KillSwitch { rule: None },
            Order::Block { who: user("a,b=%41") },
        ];
        let (reason, author) = ("why".to_owned(), "who".to_owned());
        let numbered = (1..).zip(all);
        numbered
            .map(|(id, order)| StandingOrder {
                id,
                order,
                reason: reason.clone(),
                author: author.clone(),
                expires: Some(id),
            })
            .collect()
    }

    #[test]
    fn orders_are_found_by_whatever_the_key_says_of_the_client() {
        let policy = Policy::parse("p.yaml", POLICY).unwrap();
        let orders = orders();
        let found = |rule: &str, key: &str| {
            let rule = policy.rules.iter().find(|known| *known.name == *rule).unwrap();
            let key = rule.key_of(key).unwrap_or_else(|mistake| panic!("{mistake}"));
            about(&orders, &policy, rule, &key).iter().map(|order| order.order_id).collect::<Vec<_>>()
        };
        assert_eq!(found("per-user", "user:eve"), [5, 1]);
        assert!(found("per-user", "user:bob").is_empty());
        assert_eq!(found("per-user", "user:ann"), [4]);
        assert_eq!(found("also-per-user", "user:ann"), [4], "by the same key under another rule");
        assert_eq!(found("per-address", "192.0.2.7"), [3, 2]);
        assert_eq!(found("per-address", "192.0.2.8"), [3]);
        assert!(found("per-address", "198.51.100.1").is_empty());
        assert_eq!(found("both", "user=eve,ip:address=192.0.2.8"), [6, 3, 1]);
        assert!(found("both", "user=ann,ip:address=198.51.100.1").is_empty(), "the key of another shape");
        assert_eq!(found("per-user", "user:a,b=%41"), [8]);
        assert_eq!(found("both", "user=a%2Cb=%2541,ip:address=198.51.100.1"), [8]);
    }
}
