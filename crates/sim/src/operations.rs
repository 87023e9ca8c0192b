//! Any bytes, read as operations on a limiter: the body of a fuzz target and of the replay of its corpus.
//!
//! The first byte says what is tried: a roomy table, which must answer as the reference does, or a crowded one, which must
//! keep its promises. Work per input is bounded. Where keys land in a table is random, so what is asserted holds for every
//! placement; all else is determined by the bytes.

mod crowded;
mod decode;
mod roomy;

use decode::{Decoder, Operation, Scope};

/// Operations that one input may ask for; the rest of it is ignored.
pub const OPERATIONS_MAX: usize = 512;

/// Reads `bytes` as operations and applies them.
///
/// # Panics
/// If the limiter breaks a promise; that is what it is for.
pub fn run(bytes: &[u8]) {
    let mut decoder = Decoder::new(bytes);
    match decoder.byte() % 4 {
        0 => crowded::run(&mut decoder),
        _ => roomy::run(&mut decoder),
    }
}
