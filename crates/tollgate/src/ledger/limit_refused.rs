//! Why a limit that memory keeps exactly cannot be kept exactly by a shared store.

use std::fmt;

use tollgate_core::{Span, Tokens};

/// Why a shared ledger refuses a limit. Each message names the field, the value and the cure.
///
/// The store computes in doubles, which are exact up to 2^53, and counts time in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitRefused {
    /// The terms of the rate, multiplied, are 2^53 or more.
    RateTooFine {
        /// Micro-tokens.
        micros: u64,
        /// Per so many nanoseconds.
        nanos: u64,
    },
    /// A burst, queue or quota above 9·10^9 tokens.
    BurstTooLarge(Tokens),
    /// More than 71 years from empty to full.
    TooLongToFull(Tokens),
    /// A window or timeout that is not of whole microseconds.
    NotWholeMicros(Span),
    /// A window or timeout above 71 years.
    WindowTooLong(Span),
    /// A slowest rate that is faster than the rate.
    SlowestIsFaster,
    /// An algorithm that this release does not know how to keep.
    Unknown,
}

impl fmt::Display for LimitRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RateTooFine { micros, nanos } => write!(
                f,
                "`rate` is {micros} micro-tokens every {nanos} ns, a ratio too fine for the shared store; use rounder numbers or a \
                 shorter period"
            ),
            Self::BurstTooLarge(burst) => {
                write!(f, "`burst` is {burst} tokens; in the shared store use at most 9000000000 (9·10^9)")
            }
            Self::TooLongToFull(burst) => write!(
                f,
                "`burst` is {burst} tokens, which take more than 71 years to refill; in the shared store use a smaller burst or a \
                 higher rate"
            ),
            Self::NotWholeMicros(span) => write!(
                f,
                "`window` is {span}, and the shared store counts whole microseconds; use a multiple of 1 µs (a timeout, of 2 µs)"
            ),
            Self::WindowTooLong(span) => {
                write!(f, "`window` is {span}; in the shared store use at most 71 years")
            }
            Self::SlowestIsFaster => {
                write!(
                    f,
                    "`slowest` is above `rate`; give the lowest rate that the rule may take, or leave it out"
                )
            }
            Self::Unknown => {
                write!(
                    f,
                    "`algorithm` is one that the shared store does not know; use another, or a newer release"
                )
            }
        }
    }
}

impl std::error::Error for LimitRefused {}
