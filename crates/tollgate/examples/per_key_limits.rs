//! Tiers: free and paying customers share one set of buckets under two limits.
//!
//! The caller says which tier a customer is in, check by check. A customer who upgrades keeps the balance it has: an upgrade
//! is room to refill into and a faster refill, not a full bucket. Time is virtual here, so the figures are exact.
//!
//! `cargo run -p tollgate --example per_key_limits`

use tollgate::{Burst, Clock, Cost, Limit, Limiter, Moment, Rate, Span};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::manual(Moment::default());
    let free = Limit::new(Rate::per_second(1), Burst::tokens(5))?;
    let pro = Limit::new(Rate::per_second(10), Burst::tokens(100))?;
    let limiter = Limiter::builder().clock(clock.clone()).build(free)?;
    let free = limiter.default_rule();
    let pro = free.tier("pro", pro)?;

    println!("customer:7 on the free tier, 1/s up to 5:");
    println!("  asks for 4: {}", free.check_n("customer:7", Cost::tokens(4)));
    println!("  asks for 4: {}", free.check_n("customer:7", Cost::tokens(4)));

    println!("customer:7 upgrades to pro, 10/s up to 100:");
    println!("  asks for 4: {}", pro.check_n("customer:7", Cost::tokens(4)));
    clock.advance(Span::from_millis(300));
    println!("  0.3 s on:   {}", pro.check_n("customer:7", Cost::tokens(4)));
    clock.advance(Span::from_secs(60));
    println!("  a minute on, asks for 1: {}", pro.check("customer:7"));

    println!("customer:8 was on pro from the start:");
    println!("  asks for 4: {}", pro.check_n("customer:8", Cost::tokens(4)));
    Ok(())
}
