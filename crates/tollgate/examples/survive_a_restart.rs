//! A deploy is not a free burst: balances are saved when the program stops and restored when it starts.
//!
//! The file holds the secret that names buckets, so only its owner can read it. Balances go on refilling while the program
//! is down, by the wall clock. Stop checking before you save.
//!
//! `cargo run -p tollgate --example survive_a_restart`

use std::error::Error;
use std::path::Path;

use tollgate::{Burst, Limit, LimitError, Limiter, Rate};

/// Both runs must ask for the same number: a snapshot fits the table it was taken of.
const KEYS_MAX: usize = 10_000;

fn limit() -> Result<Limit, LimitError> {
    Limit::new(Rate::per_hour(1), Burst::tokens(3))
}

fn first_run(snapshot: &Path) -> Result<(), Box<dyn Error>> {
    // There is no such file yet: all buckets are full.
    let limiter = Limiter::builder().keys_max(KEYS_MAX).restore(snapshot).build(limit()?)?;
    for _ in 0..3 {
        println!("first run,  user:1: {}", limiter.check("user:1"));
    }
    limiter.save(snapshot)?;
    println!("            saved {} bytes and stopped", std::fs::metadata(snapshot)?.len());
    Ok(())
}

fn second_run(snapshot: &Path) -> Result<(), Box<dyn Error>> {
    let limiter = Limiter::builder().keys_max(KEYS_MAX).restore(snapshot).build(limit()?)?;
    println!("second run, user:1: {}", limiter.check("user:1"));
    println!("second run, user:2: {}", limiter.check("user:2"));
    Ok(())
}

fn a_table_of_another_size(snapshot: &Path) -> Result<(), LimitError> {
    if let Err(refusal) = Limiter::builder().keys_max(KEYS_MAX * 2).restore(snapshot).build(limit()?) {
        let refusal = refusal.to_string().replace(&*snapshot.to_string_lossy(), "FILE");
        println!("third run:  {refusal}");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = format!("tollgate-example-{}.snapshot", std::process::id());
    let snapshot = std::env::temp_dir().join(name);
    let told = first_run(&snapshot)
        .and_then(|()| second_run(&snapshot))
        .and_then(|()| Ok(a_table_of_another_size(&snapshot)?));
    std::fs::remove_file(&snapshot)?;
    told
}
