//! Limits that come with the call: a service that limits on behalf of others, who say how much.
//!
//! `cargo run -p tollgate --example limits_with_the_call`

use tollgate::{Burst, Clock, Cost, Limit, Limiter, Moment, Rate, Span};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The limiter's own rule is not used here; its clock stands still until it is told otherwise.
    let (clock, unused) =
        (Clock::manual(Moment::default()), Limit::new(Rate::per_second(1), Burst::tokens(1))?);
    let limiter = Limiter::builder().explicit_keys_max(10_000).clock(clock.clone()).build(unused)?;
    let explicit = limiter.explicit();

    let free = Limit::new(Rate::per_second(1), Burst::tokens(5))?;
    for _ in 0..6 {
        let told = explicit.check("tenant:7", &free, Cost::ONE);
        println!("tenant:7, free: {told}; full in {}", told.time_to_full);
    }
    // Another limit on a live key keeps its balance, and its rate counts since the last charge.
    clock.advance(Span::from_secs(1));
    let pro = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
    println!("tenant:7, pro:  {}", explicit.check("tenant:7", &pro, Cost::ONE));

    // Several buckets, all or nothing.
    let both =
        [explicit.charge("tenant:7", &pro, Cost::tokens(10)), explicit.charge("everyone", &pro, Cost::ONE)];
    let told = explicit.check_all(&both);
    println!("both:           {told}; charge {} is the tightest", told.tightest);
    println!("everyone:       {}", explicit.peek("everyone", &pro, Cost::ONE));
    Ok(())
}
