//! Threads that share an upstream with a limit of its own: each waits its turn, and nobody waits longer than it wants to.

use std::thread;

use tollgate::{AcquireError, Burst, Cost, Limit, Limiter, Rate, Span};

const UPSTREAM: &str = "api.example.com";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Twenty requests a second, and three at once.
    let limiter = Limiter::new(Limit::new(Rate::per_second(20), Burst::tokens(3))?);
    thread::scope(|scope| {
        for worker in 1..=6 {
            let limiter = &limiter;
            scope.spawn(move || match limiter.acquire(UPSTREAM, Cost::ONE).blocking() {
                Ok(acquired) => println!("worker {worker} sends its request after {}", acquired.waited),
                Err(error) => println!("worker {worker}: {error}"),
            });
        }
    });

    // Somebody in a hurry is told at once, and charged nothing.
    match limiter.acquire(UPSTREAM, Cost::tokens(3)).within(Span::from_millis(10)).blocking() {
        Err(error @ AcquireError::TooLong { .. }) => println!("in a hurry: {error}"),
        other => println!("in a hurry: {other:?}"),
    }
    Ok(())
}
