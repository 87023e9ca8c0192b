//! Who asks: clients drawn at random, the same for every subject of a case.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tollgate::policy::Facts;

use crate::splitmix::SplitMix;

/// Addresses and endpoints of a check of four buckets; the fourth is everybody's. As in the core suite.
pub(crate) const ADDRESSES: u32 = 10_000;
pub(crate) const ENDPOINTS: u32 = 100;
/// How many clients of an attack are denied.
const ATTACKERS: u32 = 100;
/// The share of the traffic that is theirs, in percent.
const ATTACK_PERCENT: u32 = 90;

/// How clients are drawn.
#[derive(Debug, Clone)]
pub(crate) enum Traffic {
    /// All of so many users alike.
    Spread(u32),
    /// A few, who spend what they have at once, make nine tenths; the rest is spread over so many others.
    Attack(u32),
    /// Every user once.
    Each(Arc<AtomicU32>, u32),
}

/// Who asks, by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) user: u32,
    pub(crate) address: u32,
    pub(crate) endpoint: u32,
}

impl Traffic {
    /// Who asks next; `None` if nobody is left.
    pub(crate) fn next(&self, random: &mut SplitMix) -> Option<Client> {
        let user = match self {
            Traffic::Spread(users) => random.below(*users),
            Traffic::Attack(_) if random.below(100) < ATTACK_PERCENT => random.below(ATTACKERS),
            Traffic::Attack(users) => ATTACKERS + random.below(*users),
            Traffic::Each(next, users) => {
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|user| user < users)?
            }
        };
        Some(Client { user, address: random.below(ADDRESSES), endpoint: random.below(ENDPOINTS) })
    }
}

impl Client {
    /// Writes the user's name and the path; what a door would tell of such a request.
    pub(crate) fn facts<'n>(self, user: &'n mut String, path: &'n mut String) -> Facts<'n> {
        write_named::<6>(user, "user:", self.user);
        write_named::<2>(path, "/api/v1/", self.endpoint);
        let address = Ipv4Addr::from(0x0A00_0000 | self.address);
        Facts { user: Some(user), address: Some(address.into()), ..Facts::new("GET", path) }
    }
}

/// Writes a name and the last `DIGITS` digits of a number: a tenth of what `write!` takes, which would be measured with every check.
fn write_named<const DIGITS: usize>(text: &mut String, name: &str, mut number: u32) {
    let mut digits = [b'0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    text.clear();
    text.push_str(name);
    text.push_str(str::from_utf8(&digits).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::{ATTACKERS, Client, SplitMix, Traffic};
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn nine_tenths_of_an_attack_are_the_attackers() {
        let (mut random, traffic) = (SplitMix::new(1), Traffic::Attack(1_000));
        let users: Vec<u32> =
            std::iter::repeat_with(|| traffic.next(&mut random).unwrap().user).take(10_000).collect();
        let attacks = users.iter().filter(|user| **user < ATTACKERS).count();
        assert!((8_800..9_200).contains(&attacks), "{attacks}");
    }

    #[test]
    fn clients_are_called_by_their_numbers() {
        let (mut user, mut path) = ("longer than that".to_owned(), String::new());
        let facts = Client { user: 1_207, address: 258, endpoint: 7 }.facts(&mut user, &mut path);
        assert_eq!((facts.user, facts.target), (Some("user:001207"), "/api/v1/07"));
        let facts = Client { user: 999_999, address: 0, endpoint: 99 }.facts(&mut user, &mut path);
        assert_eq!((facts.user, facts.target), (Some("user:999999"), "/api/v1/99"));
    }

    #[test]
    fn every_user_comes_once() {
        let (mut random, traffic) = (SplitMix::new(1), Traffic::Each(Arc::new(AtomicU32::new(0)), 3));
        let users: Vec<u32> =
            std::iter::from_fn(|| traffic.next(&mut random)).map(|client| client.user).collect();
        assert_eq!(users, [0, 1, 2]);
    }
}
