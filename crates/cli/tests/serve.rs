//! `tollgate serve` and `tollgate config` as people and programs meet them: the real binary, on real sockets.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "serve/bad_input.rs"]
mod bad_input;
#[path = "serve/batch.rs"]
mod batch;
#[path = "serve/bypasses.rs"]
mod bypasses;
#[path = "serve/check.rs"]
mod check;
#[path = "serve/collector.rs"]
mod collector;
#[path = "serve/config.rs"]
mod config;
#[path = "serve/doors_alike.rs"]
mod doors_alike;
#[path = "serve/forward_auth.rs"]
mod forward_auth;
#[path = "serve/full_table.rs"]
mod full_table;
#[path = "serve/http2.rs"]
mod http2;
#[path = "serve/http2_frames.rs"]
mod http2_frames;
#[path = "serve/http2_limits.rs"]
mod http2_limits;
#[path = "serve/http_client.rs"]
mod http_client;
#[path = "serve/key_server.rs"]
mod key_server;
#[path = "serve/limits.rs"]
mod limits;
#[path = "serve/mint.rs"]
mod mint;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "serve/observed.rs"]
mod observed;
#[path = "serve/open_files.rs"]
mod open_files;
#[path = "serve/policies.rs"]
mod policies;
#[path = "serve/reload.rs"]
mod reload;
#[path = "serve/resp.rs"]
mod resp;
#[path = "serve/resp_client.rs"]
mod resp_client;
#[path = "serve/scratch.rs"]
mod scratch;
#[path = "serve/server.rs"]
mod server;
#[path = "serve/settle.rs"]
mod settle;
#[path = "serve/shutdown.rs"]
mod shutdown;
#[path = "serve/snapshots.rs"]
mod snapshots;
#[path = "serve/start.rs"]
mod start;
#[path = "serve/status_field.rs"]
mod status_field;
#[path = "serve/tokens.rs"]
mod tokens;
#[path = "serve/traces.rs"]
mod traces;
