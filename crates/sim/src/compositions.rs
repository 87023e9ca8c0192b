//! Any bytes, read as a file, entries, plain rows and standing orders: refused with every mistake in words, or a policy that rules
//! as it explains.
//!
//! The body of the fuzz target `compose` and of the replay of its corpus.
//!
//! ```text
//!  --- file                                              what follows is the text of the file
//!  --- entry|NAME|off                                    … of an entry, which is active unless it says `off`
//!  --- row|7|user:{user_id}|user|10|50|free|off          a row; no plan is an empty one
//!  --- order|12|override|RULE|user|ann|5|10|why|EXPIRES  who is `user`, `address`, `network` or the name of a rule
//! ```

use tollgate::policy::{Entry, Facts, Mode, Order, PlainRow, Policy, RuleBook, Sources, StandingOrder, Who};
use tollgate::{Clock, Limiter, Moment};

use crate::policies::Read;

/// Few buckets: crowding must not break anything.
const KEYS_MAX: usize = 64;
/// 2027-01-15T08:00:00Z: between the dates that orders may have.
const NOW_UNIX_S: u32 = 1_800_000_000;

/// What was read, before it is put together.
#[derive(Debug, Default)]
struct Said {
    file: Option<String>,
    entries: Vec<Entry>,
    rows: Vec<PlainRow>,
    orders: Vec<StandingOrder>,
}

/// Reads `bytes`, puts a policy together and puts requests to it.
///
/// # Panics
/// If anything in that panics, a refusal says nothing, a second time tells another story, an explanation disagrees, or a key is not
/// read as it is shown; that is what it is for.
pub fn run(bytes: &[u8]) -> Read {
    let said = Said::read(&String::from_utf8_lossy(bytes));
    for entry in &said.entries {
        if let Ok((name, stored)) = Entry::parse(&entry.text) {
            assert_eq!(Entry::parse(&stored).ok(), Some((name, stored.clone())), "{stored}");
        }
    }
    let sources = Sources {
        file: said.file.as_deref().map(|text| ("fuzz.yaml", text)),
        entries: &said.entries,
        plain_rows: &said.rows,
        orders: &said.orders,
        now_unix_s: i64::from(NOW_UNIX_S),
        stop: None,
    };
    let (first, second) = (Policy::compose(&sources), Policy::compose(&sources));
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
    let composed = match first {
        Ok(composed) => composed,
        Err(mistakes) => {
            assert!(mistakes.count() > 0 && !mistakes.to_string().is_empty(), "refused without a mistake");
            return Read::Refused;
        }
    };
    rules_as_it_explains(&composed.policy, &said.orders);
    let clock = Clock::manual(Moment::from_nanos(u64::from(NOW_UNIX_S) * 1_000_000_000));
    match Limiter::builder().keys_max(KEYS_MAX).clock(clock).build_with_policy(composed.policy) {
        Ok(limiter) => {
            let decision = limiter.check(&Facts::new("GET", "/"));
            let answer = limiter.answer(&decision, |answering| answering.render());
            assert_eq!(answer.status == 200, decision.is_admitted());
            Read::Works
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Read::Refused
        }
    }
}

/// Puts requests of those whom the orders are about to a policy, and of somebody else.
fn rules_as_it_explains(policy: &Policy, orders: &[StandingOrder]) {
    for lint in policy.lints() {
        assert!(!lint.to_string().is_empty());
    }
    for (position, group) in policy.groups.iter().enumerate() {
        assert!(group.rules.iter().all(|rule| policy.rules[*rule].group == Some(position)));
        assert!(group.rules.is_sorted());
    }
    let book = RuleBook::new(policy.clone());
    let headers = vec![("X-Api-Key".to_owned(), "k".to_owned())];
    let asked = |facts: &Facts<'_>| {
        let mut hits = Vec::new();
        let unix_s = u64::from(NOW_UNIX_S);
        let ruling = book.rule_on(facts, unix_s, |hit| {
            let rule = &policy.rules[hit.rule];
            if let Some(text) = rule.keys_text(hit.key) {
                assert_eq!(rule.key_of(&text).as_deref(), Ok(hit.key), "{text}");
            }
            hits.push(hit.rule);
        });
        assert_eq!(book.explain(facts, unix_s).ruling, ruling);
        assert!(hits.is_sorted(), "in the order of the policy");
    };
    let somebody = Facts {
        address: Some([192, 0, 2, 1].into()),
        headers: &headers,
        plan: Some("pro"),
        ..Facts::new("GET", "/api/search?q=1")
    };
    asked(&somebody);
    for StandingOrder { order, .. } in orders.iter().take(8) {
        let (Order::Block { who } | Order::Allow { who } | Order::Override { who, .. }) = order else {
            continue;
        };
        match who {
            Who::User(user) => asked(&Facts { user: Some(user), ..somebody }),
            Who::Address(address) => asked(&Facts { address: Some(*address), ..somebody }),
            Who::Network(network) => asked(&Facts { address: Some(network.broadcast()), ..somebody }),
            Who::Key { key, .. } => asked(&Facts { user: Some(key), ..somebody }),
        }
    }
}

impl Said {
    fn read(text: &str) -> Said {
        let mut said = Said::default();
        for part in text.split("--- ").skip(1) {
            let (head, body) = part.split_once('\n').unwrap_or((part, ""));
            let mut fields = head.split('|').map(str::trim);
            let kind = fields.next().unwrap_or_default();
            let mut field = || fields.next().unwrap_or_default().to_owned();
            match kind {
                "file" => said.file = Some(body.to_owned()),
                "entry" => {
                    let (name, is_active) = (field(), field() != "off");
                    said.entries.push(Entry { name, text: body.to_owned(), is_active });
                }
                "row" => said.rows.push(PlainRow {
                    rule_id: number(&field()),
                    key_pattern: field(),
                    scope: field(),
                    rate_per_second: field(),
                    burst_capacity: field(),
                    plan: Some(field()).filter(|plan| !plan.is_empty()),
                    is_active: field() != "off",
                    description: None,
                }),
                "order" => said.orders.push(order(&mut field)),
                _ => {}
            }
        }
        said
    }
}

/// One order, from its fields.
fn order(field: &mut impl FnMut() -> String) -> StandingOrder {
    let (id, kind, rule, who_kind, who) = (number(&field()), field(), field(), field(), field());
    let (rate, burst, reason, expires) = (field(), field(), field(), field());
    let who = match &*who_kind {
        "address" => who.parse().map_or(Who::User(who), Who::Address),
        "network" => who.parse().map_or(Who::User(who), Who::Network),
        "user" => Who::User(who),
        _ => Who::Key { rule: who_kind, key: who },
    };
    let order = match &*kind {
        "block" => Order::Block { who },
        "allow" => Order::Allow { who },
        "override" => Order::Override { rule, who, rate, burst },
        "shadow" => Order::Mode { rule, mode: Mode::Shadow },
        "off" => Order::Mode { rule, mode: Mode::Off },
        "enforce" => Order::Mode { rule, mode: Mode::Enforce },
        _ => Order::KillSwitch { rule: Some(rule).filter(|rule| !rule.is_empty()) },
    };
    let expires = Some(expires).filter(|expires| !expires.is_empty()).map(|expires| number(&expires));
    StandingOrder { id, order, reason, author: "fuzz".to_owned(), expires }
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_default()
}
