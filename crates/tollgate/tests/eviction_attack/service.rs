//! The rules of attempt C06 in one table, and the attack on them.

use tollgate::{Burst, Clock, Limit, Limiter, Moment, Rate, Rule, Span};

pub(crate) const START: Moment = Moment::from_nanos(1_000_000_000_000_000);
/// Time between two requests of a flood: 160,000 a second.
const BETWEEN: Span = Span::from_nanos(6_250);
/// Clients that have used up the rule `login`.
const THROTTLED: u32 = 50;

/// The rules of attempt C06, in one table.
pub(crate) struct Service {
    pub(crate) limiter: Limiter,
    clock: Clock,
    pub(crate) login: Rule,
    pub(crate) key: Rule,
    user: Rule,
    /// Number of the next invented key.
    next: u32,
}

impl Service {
    pub(crate) fn new(keys_max: usize) -> Service {
        let clock = Clock::manual(START);
        let per_day = Limit::new(Rate::per_day(100), Burst::tokens(50)).unwrap();
        let builder = Limiter::builder().keys_max(keys_max).clock(clock.clone());
        let limiter = builder.build(per_day).unwrap();
        let login = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
        let user = Limit::new(Rate::per_second(1_000), Burst::tokens(1_000)).unwrap();
        let (login, key) = (limiter.rule("login", login).unwrap(), limiter.rule("key", per_day).unwrap());
        let user = limiter.rule("user", user).unwrap();
        Service { limiter, clock, login, key, user, next: 1_000_000 }
    }

    /// Sends requests with so many invented keys under one rule. Returns the logins that throttled clients got meanwhile.
    pub(crate) fn flood(&mut self, rule: &Rule, requests: u32) -> u64 {
        let (every, mut extra) = ((requests / 60).max(1), 0);
        for request in 0..requests {
            self.clock.advance(BETWEEN);
            let _ = rule.check(self.next);
            self.next += 1;
            if request % every == 0 {
                extra += self.logins();
            }
        }
        extra + self.logins()
    }

    /// One login of every throttled client.
    fn logins(&self) -> u64 {
        (0..THROTTLED).filter(|client| self.login.check(*client).is_admitted()).count() as u64
    }
}

/// Uses up `login` for 50 clients, floods the table in several orders, and counts the logins beyond the limit.
pub(crate) fn extra_logins(keys_max: usize, requests: u32) -> u64 {
    let mut service = Service::new(keys_max);
    let admitted: u64 = (0..5).map(|_| service.logins()).sum();
    assert_eq!(admitted, 5 * u64::from(THROTTLED));
    let [login, key, user] = [&service.login, &service.key, &service.user].map(Rule::clone);
    let mut extra = 0;
    for rules in [vec![&key, &user], vec![&key, &user], vec![&login, &user], vec![&login, &key, &user]] {
        extra += rules.into_iter().map(|rule| service.flood(rule, requests)).sum::<u64>();
    }
    assert!(service.limiter.stats().evicted > 0, "{:?}", service.limiter.stats());
    extra
}
