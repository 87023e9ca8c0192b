//! One request, three limits: per user, per organisation, and for the whole service. All of them pay, or none does.
//!
//! A user who is denied must not eat what belongs to the others. The verdict says which limits denied, and how long to wait
//! until all of them can pay. Time is virtual here, so the figures are exact.
//!
//! `cargo run -p tollgate --example several_limits`

use tollgate::{Breadth, Burst, Clock, Limit, Limiter, Moment, Rate, Rule, Verdict};

/// The limits of a service, narrow to broad.
struct Limits {
    limiter: Limiter,
    user: Rule,
    organisation: Rule,
    service: Rule,
}

impl Limits {
    fn new() -> Result<Limits, Box<dyn std::error::Error>> {
        let user = Limit::new(Rate::per_second(1), Burst::tokens(3))?;
        let organisation = Limit::new(Rate::per_second(2), Burst::tokens(4))?;
        let service = Limit::new(Rate::per_second(100), Burst::tokens(1_000))?;
        let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(user)?;
        Ok(Limits {
            user: limiter.rule("user", user)?,
            organisation: limiter.shared_rule("organisation", organisation, Breadth::Group)?,
            service: limiter.shared_rule("service", service, Breadth::Everyone)?,
            limiter,
        })
    }

    /// Asks all three for one token. `()` is the one key of a limit that everybody shares.
    fn check(&self, user: u64, organisation: &str) -> Verdict {
        self.limiter.check_all(&[
            self.user.charge(user),
            self.organisation.charge(organisation),
            self.service.charge(()),
        ])
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const NAMES: [&str; 3] = ["user", "organisation", "service"];
    let limits = Limits::new()?;
    for user in [1, 1, 1, 1, 2, 2] {
        let verdict = limits.check(user, "acme");
        print!("user {user} of acme: {verdict}");
        if let Verdict::Deny { denied, .. } = verdict {
            let who: Vec<&str> = denied.iter().map(|position| NAMES[position]).collect();
            print!(" (denied by: {})", who.join(" and "));
        }
        println!();
    }
    // Four were admitted and two denied; the service paid for the four.
    println!("the service still holds: {}", limits.service.peek(()));
    Ok(())
}
