//! Floods against every proxy recipe and both example middlewares: 32, 64 and 150 connections of one client, about three seconds each.
//! At most the client's burst reaches the application. Run alone and optimised, by the gate's step `proofs`.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "proxies/application.rs"]
mod application;
#[expect(dead_code, reason = "the recipes' own tests use the rest")]
#[path = "proxies/client.rs"]
mod client;
#[path = "deployment/component.rs"]
mod component;
#[path = "hostile/flood.rs"]
mod flood;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "proxies/ports.rs"]
mod ports;
#[path = "proxies/process.rs"]
mod process;
#[expect(dead_code, reason = "the odd requests use the rest")]
#[path = "hostile/raw_client.rs"]
mod raw_client;
#[expect(dead_code, reason = "the recipes' own tests use the rest")]
#[path = "proxies/recipe.rs"]
mod recipe;
#[expect(dead_code, reason = "the recipes' own tests use the rest")]
#[path = "proxies/stack.rs"]
mod stack;
#[path = "hostile/subject.rs"]
mod subject;

use crate::flood::Flood;
use crate::raw_client::status_of;
use crate::subject::{BURST, SUBJECTS};

/// Connections of the floods, each from a client of its own.
const SIZES: [(usize, u8); 3] = [(32, 2), (64, 3), (150, 4)];
/// A client that floods nothing.
const OTHER: u8 = 5;

fn floods(name: &str) {
    let (_, subject) = SUBJECTS.iter().find(|(subject, _)| *subject == name).unwrap();
    let Some(mut running) = subject.start() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut outcomes = Vec::new();
    for (connections, client) in SIZES {
        let before = running.reached();
        let outcome = runtime.block_on(Flood { port: running.port(), client, connections }.run());
        let reached = running.reached() - before;
        println!("{name}: {connections} connections, {reached} requests reached the application; {outcome}");
        outcomes.push((connections, reached, outcome));
        assert!(running.is_running(), "{connections} connections ended it");
    }
    for (connections, reached, outcome) in &outcomes {
        assert!(*reached <= BURST, "{connections} connections: {outcomes:?}");
        assert!(outcome.denied > 0, "{connections} connections met no limit: {outcomes:?}");
    }
    let plain = b"GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n";
    assert_eq!(
        runtime.block_on(status_of(running.port(), OTHER, plain)),
        Some(200),
        "another client is served"
    );
}

macro_rules! floods {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                floods(stringify!($name));
            }
        )*
    };
}

floods! { nginx caddy traefik traefik_fail_open haproxy express fastapi }
