//! At most two exports at a time for each user, and one a minute on average: both or neither.

use tollgate::{Burst, Concurrency, Limit, Limiter, Rate, Span};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Limiter::new(Limit::new(Rate::per_minute(1), Burst::tokens(5))?);
    let started = limiter.default_rule();
    // A place whose holder is lost (a crash, a leaked guard) is free again after ten to fifteen minutes.
    let running = limiter.rule("running", Concurrency::new(2, Span::from_secs(600))?)?;
    let export = |user: &str| limiter.enter_all(&[started.charge(user), running.charge(user)]);

    let first = export("ann").map_err(|verdict| verdict.to_string())?;
    let second = export("ann").map_err(|verdict| verdict.to_string())?;
    match export("ann") {
        Ok(_) => println!("a third export runs, which should not be"),
        Err(verdict) => println!("third: {verdict} at the latest, or when one of the two is done"),
    }
    println!("tokens left for ann: {}", started.balance("ann")?);

    drop(first);
    println!("one is done; the next: {}", if export("ann").is_ok() { "goes ahead" } else { "waits" });
    println!("the second gives its place back: {:?}", second.leave());
    Ok(())
}
