//! A budget of tokens per user for a language model: the true cost is known only when the answer is there.

use tollgate::{Burst, Cost, Limit, Limiter, Rate, ReserveError, Span, Verdict};

/// What the model used in the end: sometimes less than asked for, sometimes more.
fn complete(prompt: &str) -> Result<Cost, &'static str> {
    match prompt {
        "short" => Ok(Cost::tokens(120)),
        "long" => Ok(Cost::tokens(900)),
        _ => Err("the model is down"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A thousand tokens at once, and a hundred thousand a day.
    let limiter = Limiter::new(Limit::new(Rate::per_day(100_000), Burst::tokens(1_000))?);
    let budget = limiter.default_rule();

    for prompt in ["short", "broken", "long", "short"] {
        // The estimate is charged at once, so that two answers under way cannot spend the same tokens.
        let reservation = match budget.reserve("ann", Cost::tokens(500), Span::from_secs(60)) {
            Ok(reservation) => reservation,
            Err(ReserveError::Denied(verdict @ Verdict::Deny { .. })) => {
                println!("{prompt:<7} {verdict}");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let settled = match complete(prompt) {
            Ok(used) => reservation.commit(used)?,
            Err(_) => reservation.cancel()?,
        };
        println!("{prompt:<7} given back {}, charged on top {}", settled.returned, settled.charged);
        assert!(reservation.cancel().is_err(), "each reservation is settled once");
    }
    println!("left    {}", budget.balance("ann")?);
    Ok(())
}
