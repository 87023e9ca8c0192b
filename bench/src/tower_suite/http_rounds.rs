//! Requests over loopback sockets: a server on its thread, the load generator on another.

use std::net::SocketAddr;

use tokio::runtime::Runtime;

use super::http_load::{self, Load};
use super::http_server;
use super::interleaved::{self, Contender};
use super::layers::{BURST_AMPLE, BURST_ONE};
use super::results::{CaseResult, NONE};
use crate::options::Options;
use crate::problem::Problem;
use crate::stopwatch::Lap;

const CONNECTIONS: u8 = 32;
/// Per connection and round.
const REQUESTS_EACH: u32 = 1_000;
const ROUNDS: usize = 41;
const QUICK_DIVISOR: u32 = 10;
/// Room in our table; the connections need far less.
const ADDRESSES: u32 = 100_000;

/// Measures the three, interleaved.
pub(crate) fn measure(case: &'static str, options: &Options) -> Result<CaseResult, Problem> {
    let runtime = http_load::runtime()?;
    for (name, server) in http_server::start_all(BURST_ONE, ADDRESSES)? {
        prove(name, server, &runtime)?;
    }
    let requests_each =
        options.scaled(if options.quick { REQUESTS_EACH / QUICK_DIVISOR } else { REQUESTS_EACH });
    let mut contenders: Vec<Contender<'_>> = Vec::new();
    for (name, server) in http_server::start_all(BURST_AMPLE, ADDRESSES)? {
        let mut load = Load::connect(&runtime, server, CONNECTIONS)?;
        let runtime = &runtime;
        round(name, &mut load, runtime, requests_each)?;
        contenders.push(Box::new(move || round(name, &mut load, runtime, requests_each)));
    }
    let nanos = interleaved::run(&mut contenders, if options.quick { 1 } else { ROUNDS })?;
    CaseResult::of(case, nanos)
}

/// Of two requests of each of two addresses one is admitted; without a limiter all are.
fn prove(name: &str, server: SocketAddr, runtime: &Runtime) -> Result<(), Problem> {
    let admitted = Load::connect(runtime, server, 2)?.send(runtime, 2)?;
    let expected = if name == NONE { 4 } else { 2 };
    if admitted == expected {
        return Ok(());
    }
    Err(Problem::failed(format!(
        "{name} is not limiting by address: with a burst of 1 it admitted {admitted} of two requests from each of two \
         addresses, not {expected}; mend bench/src/tower_suite/layers.rs"
    )))
}

/// Nanoseconds per request: wall time ÷ requests of all connections.
fn round(name: &str, load: &mut Load, runtime: &Runtime, requests_each: u32) -> Result<f64, Problem> {
    let requests = requests_each * u32::from(CONNECTIONS);
    let (lap, admitted) = Lap::of(|| load.send(runtime, requests_each));
    let admitted = admitted?;
    if admitted != requests {
        return Err(Problem::failed(format!(
            "{name} admitted {admitted} of {requests} requests where all should be; the figures would compare different \
             work, so mend bench/src/tower_suite/layers.rs"
        )));
    }
    Ok(Lap::span(&[lap]).unwrap_or_default().as_secs_f64() * 1e9 / f64::from(requests))
}
