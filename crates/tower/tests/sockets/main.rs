//! The turnstile before real servers, on real sockets, asked by real clients. Time stands still unless a test moves it.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

mod afterwards;
mod answers;
mod bare_hyper;
mod clones;
mod costs;
mod described;
mod grpc;
mod grpc_tls;
mod principals;
mod proxies;
mod refusals;
mod routes;
mod served;
mod shadows;
mod shaping;
mod tokens;
