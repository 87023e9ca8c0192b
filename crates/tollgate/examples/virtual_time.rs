//! Tests that need no waiting: a clock that stands still until it is told otherwise.
//!
//! The scene is the classic trap: 1,000 requests per minute, and a client that sends 1,000 at the end of one minute and
//! 1,000 at the start of the next. A fixed window admits 2,000 of them within two seconds. A bucket does not.
//!
//! `cargo run -p tollgate --example virtual_time`

use tollgate::{Burst, Clock, Limit, Limiter, Moment, Rate, Span, Verdict};

/// What a program under test might hold: a limiter, whose clock it never sees.
struct Door {
    limiter: Limiter,
}

impl Door {
    fn admitted_of(&self, requests: u32) -> u32 {
        (0..requests).map(|_| u32::from(self.limiter.check("client").is_admitted())).sum()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::manual(Moment::default());
    let limit = Limit::new(Rate::per_minute(1_000), Burst::tokens(1_000))?;
    let door = Door { limiter: Limiter::builder().clock(clock.clone()).build(limit)? };

    clock.set(Moment::default() + Span::from_secs(59));
    println!("at 59 s: {:5} of 1000 admitted", door.admitted_of(1_000));
    clock.advance(Span::from_secs(2));
    println!("at 61 s: {:5} of 1000 admitted: what two seconds refill", door.admitted_of(1_000));

    if let Verdict::Deny { wait, .. } = door.limiter.check("client") {
        println!("the next one waits {wait}");
        let ready = clock.now() + wait;
        clock.set(ready - Span::from_nanos(1));
        println!("  a nanosecond early: {}", door.limiter.check("client"));
        clock.set(ready);
        println!("  on time:            {}", door.limiter.check("client"));
    }

    clock.set(Moment::default());
    println!("the clock set back a minute: {}", door.limiter.check("client"));
    clock.advance(Span::from_secs(3_600));
    println!(
        "an hour of quiet, then {:5} of 2000 admitted: never more than the burst",
        door.admitted_of(2_000)
    );
    Ok(())
}
