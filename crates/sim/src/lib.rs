//! The wind tunnel: what proves that Tollgate keeps its promises, in virtual time.
//!
//! Nothing here is part of a limiter. The tests of every crate may use it, and so may whoever shows what limits do.
//!
//! # Reading order
//! [`model`] is a token bucket in exact rationals, the judge of the arithmetic, and [`models`] are those of the other algorithms. [`history`] records what many threads
//! asked and were told; [`checker`] finds the worst interval in it. [`conformance`] is the suite that defines a store, and
//! [`memory_subject`] puts the memory store through it. [`operations`], [`constructions`], [`snapshots`], [`policies`],
//! [`compositions`] and [`requests`] turn any bytes into a test. [`seeds`] makes random tests replayable. [`playground`] plays algorithms side by side,
//! for people to look at.
#![forbid(unsafe_code)]

pub mod checker;
pub mod compositions;
pub mod conformance;
pub mod constructions;
pub mod history;
pub mod memory_subject;
pub mod model;
pub mod models;
pub mod operations;
pub mod playground;
pub mod policies;
pub mod requests;
pub mod seeds;
pub mod snapshots;
