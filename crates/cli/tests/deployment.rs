//! The service as it is deployed: under a service manager, in a container, behind the example middlewares, and as the README's
//! quick start has it. The real binary, real sockets, real neighbours.
//!
//! What a neighbour needs is set up by `cargo xtask test setup`; `TOLLGATE_SKIP=express,fastapi,systemd,promtool` leaves neighbours out by name.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "deployment/component.rs"]
mod component;
#[path = "deployment/container.rs"]
mod container;
#[path = "deployment/curl.rs"]
mod curl;
#[path = "deployment/express.rs"]
mod express;
#[path = "deployment/fastapi.rs"]
mod fastapi;
#[path = "deployment/healthcheck.rs"]
mod healthcheck;
#[path = "deployment/live_demo.rs"]
mod live_demo;
#[path = "deployment/monitoring.rs"]
mod monitoring;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "deployment/neighbour.rs"]
mod neighbour;
#[path = "deployment/process.rs"]
mod process;
#[path = "deployment/quick_start.rs"]
mod quick_start;
#[path = "deployment/scratch.rs"]
mod scratch;
#[path = "deployment/service_manager.rs"]
mod service_manager;
#[path = "deployment/units.rs"]
mod units;
