//! Odd requests against every proxy recipe and both example middlewares: a client whose limit is used up gets nothing through, block
//! rules and kill switches hold, and the proxy or service survives. Floods are in `heavy_floods.rs`. Run alone, by the gate's step
//! `proofs`: on a machine that is busy with other tests, a verdict may come too late, and the recipes fail open.
//!
//! `cargo xtask test setup` brings the proxies and frameworks; `TOLLGATE_SKIP` leaves them out by name.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "proxies/application.rs"]
mod application;
#[expect(dead_code, reason = "the recipes' own tests use the rest")]
#[path = "proxies/client.rs"]
mod client;
#[path = "deployment/component.rs"]
mod component;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "hostile/odd_requests.rs"]
mod odd_requests;
#[path = "proxies/ports.rs"]
mod ports;
#[path = "proxies/process.rs"]
mod process;
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

use crate::odd_requests::{OddRequest, odd_requests};
use crate::raw_client::{Leaving, send_and_leave, status_of};
use crate::subject::{BURST, Running, SUBJECTS};

/// The client of the plain requests, and the first of those that have tokens left.
const THROTTLED: u8 = 2;
const FRESH: u8 = 10;
const PLAIN: &[u8] = b"GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n";

/// Runs a check on the subject of this name.
fn check(name: &str, check: impl AsyncFnOnce(&mut Running)) {
    let (_, subject) = SUBJECTS.iter().find(|(subject, _)| *subject == name).unwrap();
    let Some(mut running) = subject.start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(check(&mut running));
}

/// A client without tokens sends every odd request.
async fn odd_requests_do_not_pass(running: &mut Running) {
    for _ in 0..BURST {
        assert_eq!(status_of(running.port(), THROTTLED, PLAIN).await, Some(200));
    }
    let rows = odd_requests("/", "");
    assert!(rows.len() >= 60, "{}", rows.len());
    for OddRequest { name, bytes, .. } in rows {
        let reached = running.reached();
        let status = status_of(running.port(), THROTTLED, &bytes).await;
        println!("{name}: {status:?}");
        assert_eq!(running.reached(), reached, "{name} reached the application: {status:?}");
        assert!(running.is_running(), "{name} ended it");
    }
    still_serves(running, BURST).await;
}

/// A client without tokens sends requests and leaves before their replies.
async fn clients_that_leave_do_not_pass(running: &mut Running) {
    for _ in 0..BURST {
        assert_eq!(status_of(running.port(), THROTTLED, PLAIN).await, Some(200));
    }
    let plain = b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n";
    for leaving in [Leaving::HalfClose, Leaving::Close, Leaving::Reset] {
        let reached = running.reached();
        for _ in 0..20 {
            send_and_leave(running.port(), THROTTLED, plain, leaving).await;
        }
        assert_eq!(status_of(running.port(), THROTTLED, PLAIN).await, Some(429), "{leaving:?}");
        assert_eq!(running.reached(), reached, "{leaving:?}");
    }
    still_serves(running, BURST).await;
}

/// Clients with tokens send odd requests that a block rule or a kill switch is about.
async fn blocks_and_kill_switches_hold(running: &mut Running) {
    let blocked = odd_requests("/", "X-Api-Key: leaked\r\n").into_iter().filter(|row| row.has_fields);
    let killed = odd_requests("/export/a", "").into_iter().filter(|row| row.has_target);
    for (OddRequest { name, bytes, .. }, client) in blocked.chain(killed).zip(FRESH..) {
        let before = running.reached();
        let status = status_of(running.port(), client, &bytes).await;
        assert_eq!(running.reached(), before, "{name} reached the application: {status:?}");
        assert!(running.is_running(), "{name} ended it");
    }
    still_serves(running, 0).await;
}

/// Nothing came late, and another client is served and limited as ever.
async fn still_serves(running: &mut Running, reached: usize) {
    let mut statuses = Vec::new();
    for _ in 0..=BURST {
        statuses.push(status_of(running.port(), FRESH - 1, PLAIN).await);
    }
    assert_eq!(statuses, [Some(200), Some(200), Some(200), Some(429)]);
    assert_eq!(running.reached(), reached + BURST);
    assert!(running.is_running());
}

macro_rules! subjects_hold {
    ($($name:ident)*) => {
        $(
            mod $name {
                #[test]
                fn odd_requests_do_not_pass_a_used_up_limit() {
                    crate::check(stringify!($name), async |running| crate::odd_requests_do_not_pass(running).await);
                }

                #[test]
                fn clients_that_leave_early_do_not_pass() {
                    crate::check(stringify!($name), async |running| crate::clients_that_leave_do_not_pass(running).await);
                }

                #[test]
                fn odd_requests_do_not_pass_blocks_and_kill_switches() {
                    crate::check(stringify!($name), async |running| crate::blocks_and_kill_switches_hold(running).await);
                }
            }
        )*
    };
}

subjects_hold! { nginx caddy traefik traefik_fail_open haproxy express fastapi }
