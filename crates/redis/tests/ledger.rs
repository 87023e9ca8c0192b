//! What the script promises, on every server that there is.
//!
//! Exactness over many histories is in `proof_exactness.rs`.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "ledger/asking.rs"]
mod asking;
#[path = "ledger/checks.rs"]
mod checks;
#[path = "ledger/contract.rs"]
mod contract;
#[path = "ledger/declaring.rs"]
mod declaring;
#[path = "ledger/denials.rs"]
mod denials;
#[path = "ledger/faults.rs"]
mod faults;
#[path = "ledger/holds.rs"]
mod holds;
#[path = "ledger/keeping.rs"]
mod keeping;
#[path = "ledger/leases.rs"]
mod leases;
#[path = "ledger/operations.rs"]
mod operations;
#[path = "ledger/other_algorithms.rs"]
mod other_algorithms;
mod support;
#[path = "ledger/tiers.rs"]
mod tiers;
