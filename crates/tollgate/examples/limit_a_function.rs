//! The smallest use: a function that each user may call ten times a second, and three times in a row.
//!
//! `cargo run -p tollgate --example limit_a_function`

use tollgate::{Burst, Limit, Limiter, Rate, Verdict};

fn greet(limiter: &Limiter, user: &str) -> Result<String, Verdict> {
    let verdict = limiter.check(user);
    if verdict.is_admitted() { Ok(format!("hello, {user}")) } else { Err(verdict) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Limiter::new(Limit::new(Rate::per_second(10), Burst::tokens(3))?);
    for user in ["user:1", "user:1", "user:1", "user:1", "user:2"] {
        match greet(&limiter, user) {
            Ok(greeting) => println!("{greeting}"),
            Err(verdict) => println!("not now, {user}: {verdict}"),
        }
    }
    Ok(())
}
