//! Tasks that share an upstream with a limit of its own: each awaits its turn, and one that is dropped gives its place back.

use std::time::Duration;

use tollgate::{Burst, Cost, Limit, Limiter, Rate};

const UPSTREAM: &str = "api.example.com";

async fn send(limiter: Limiter, request: u32) {
    match limiter.acquire(UPSTREAM, Cost::ONE).await {
        Ok(acquired) => println!("request {request} is sent after {}", acquired.waited),
        Err(error) => println!("request {request}: {error}"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Twenty requests a second, and two at once.
    let limiter = Limiter::new(Limit::new(Rate::per_second(20), Burst::tokens(2))?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let requests: Vec<_> = (1..=5).map(|request| tokio::spawn(send(limiter.clone(), request))).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        println!("{} wait; request 3 is cancelled, and those behind it move forward", limiter.waiters());
        requests[2].abort();
        for request in requests {
            let _ = request.await; // the cancelled one ends with an error, as it should
        }
    });
    Ok(())
}
