//! A batch: many checks that have nothing to do with one another, decided in one call.
//!
//! Worth it where requests arrive together, as from a pipelined connection or a queue: the buckets are fetched from memory
//! side by side, and the clock is read once for every sixteen. Each check gets a verdict of its own.
//!
//! `cargo run -p tollgate --example batch`

use tollgate::{Burst, Charge, Limit, Limiter, Rate, Verdict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Limiter::new(Limit::new(Rate::per_minute(60), Burst::tokens(2))?);
    let rule = limiter.default_rule();

    // What a read from a socket might bring: 32 requests, some clients in a hurry.
    let senders: Vec<u32> = (0..32).map(|n: u32| n * n % 11).collect();
    let charges: Vec<Charge> = senders.iter().map(|sender| rule.charge(*sender)).collect();

    let mut verdicts = Vec::new(); // keep it: the next batch uses the same room
    limiter.check_each(&charges, &mut verdicts);

    let admitted = verdicts.iter().filter(|verdict| verdict.is_admitted()).count();
    println!("{admitted} of {} requests admitted, two for each client at most", verdicts.len());
    for client in 0..11 {
        let theirs: Vec<&Verdict> =
            senders.iter().zip(&verdicts).filter(|(sender, _)| **sender == client).map(|(_, v)| v).collect();
        if let Some(last) = theirs.last() {
            let admitted = theirs.iter().filter(|verdict| verdict.is_admitted()).count();
            println!("  client {client:2}: {admitted} of {} admitted; the last one: {last}", theirs.len());
        }
    }
    Ok(())
}
