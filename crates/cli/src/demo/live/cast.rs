//! Who takes part: about 300 requests per second in all.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::client::{Client, Pace};
use super::tally::Kind;

/// The cast, for people.
pub(super) const IN_WORDS: &str = "three dozen polite users and a crowd that comes and goes,\n\
     half a dozen who load everything at once, two who guess passwords, a scraper,\n\
     and one who never listens";

/// The user who scrapes.
pub(super) const SCRAPER: &str = "user:scraper";

/// How many visitors come per second, over a minute.
const TIDE: [u32; 12] = [30, 45, 65, 90, 110, 125, 130, 120, 100, 70, 45, 30];
/// Of how many addresses they are.
const VISITORS: u16 = 600;
/// What ordinary people ask for.
const PATHS: [&str; 6] = ["/", "/api/items", "/api/items/7", "/api/cart", "/api/profile", "/api/search"];
const ORGANISATIONS: [&str; 4] = ["acme", "globex", "initech", "umbrella"];

/// Every client.
pub(super) fn everybody() -> Vec<Client> {
    let mut all = Vec::new();
    for number in 0..18 {
        all.push(user(number, "pro", Kind::Polite, Pace::Even(Duration::from_millis(250))));
        all.push(user(number, "free", Kind::Polite, Pace::Even(Duration::from_millis(1_200))));
    }
    for number in 18..24 {
        let plan = if number % 2 == 0 { "pro" } else { "free" };
        all.push(user(number, plan, Kind::Bursty, Pace::Bursts(40, Duration::from_secs(8))));
    }
    all.push(crowd());
    for guesser in [7, 66] {
        let question = json!({"method": "POST", "path": "/login", "ip": format!("203.0.113.{guesser}")});
        all.push(abusive(Pace::Even(Duration::from_millis(150)), &[question]));
    }
    let scrape = json!({"path": "/api/search", "user": "scraper", "plan": "pro", "ip": "203.0.113.99"});
    let raids = Pace::Raids { every: Duration::from_millis(16), count: 1_200, rest: Duration::from_secs(12) };
    all.push(abusive(raids, &[scrape]));
    let export = json!({"path": "/api/export", "user": "mallory", "plan": "free", "ip": "203.0.113.13"});
    let items = json!({"path": "/api/items", "user": "mallory", "plan": "free", "ip": "203.0.113.13"});
    all.push(abusive(Pace::Even(Duration::from_millis(40)), &[items.clone(), items, export]));
    all
}

/// Somebody who has signed in, of some organisation.
fn user(number: usize, plan: &str, kind: Kind, pace: Pace) -> Client {
    let name = format!("{plan}-{number:02}");
    let ip = format!("192.0.2.{}", 10 + number);
    let organisation = ORGANISATIONS.get(number % ORGANISATIONS.len()).copied().unwrap_or_default();
    let ask = |path: &str| json!({"path": path, "user": name, "plan": plan, "ip": ip, "headers": {"x-organisation": organisation}});
    let questions: Vec<Value> = PATHS.iter().map(|path| ask(path)).collect();
    client(kind, pace, &questions)
}

/// Visitors who have not signed in.
fn crowd() -> Client {
    // A number with no divisor in common walks through all of them, and neighbours are not alike.
    let visitor = |n: u16| {
        let at = n * 7 % VISITORS;
        let path = PATHS.get(usize::from(n) % (PATHS.len() - 1)).copied().unwrap_or("/");
        json!({"path": path, "ip": format!("198.18.{}.{}", at / 250, 1 + at % 250)})
    };
    client(Kind::Polite, Pace::Tide(&TIDE), &(0..VISITORS).map(visitor).collect::<Vec<_>>())
}

fn abusive(pace: Pace, questions: &[Value]) -> Client {
    client(Kind::Abusive, pace, questions)
}

fn client(kind: Kind, pace: Pace, questions: &[Value]) -> Client {
    Client {
        kind,
        pace,
        questions: questions.iter().map(|question| Bytes::from(question.to_string())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_clients_of_every_kind_and_each_has_something_to_ask() {
        let all = everybody();
        for kind in Kind::ALL {
            assert!(all.iter().any(|client| client.kind == kind), "{}", kind.name());
        }
        assert!(all.iter().all(|client| !client.questions.is_empty()));
    }
}
