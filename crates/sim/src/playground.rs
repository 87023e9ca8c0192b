//! The playground: the same requests through one limit after the other, on the real engine in virtual time (V2).
//!
//! ```text
//!  patterns ─► arrivals ─┐
//!                        ├─► booth: a fresh limiter ─► trace: what each was told, and the level over time ─► passages: what left when
//!  limits ───────────────┘                                                                                      └─► checker
//! ```
//! Promises that every figure is the engine's: what is held, how long to wait, when to leave; and that the same arrivals and limits
//! always give the same trace. A run begins at [`Moment::default`], with which windows of the calendar begin as well. Knows no text and no
//! colour: `tollgate demo` and the admin door show what is found here.
//!
//! [`Moment::default`]: tollgate_core::Moment

mod arrivals;
mod booth;
mod passages;
mod pattern;
mod tiers;
mod trace;

pub use arrivals::{Arrival, Stream, TooManyArrivals, arrivals};
pub use booth::{Booth, CLIENT};
pub use passages::{Passage, Passages};
pub use pattern::{Pace, Pattern};
pub use tiers::TieredBooth;
pub use trace::{Limits, Outcome, Point, Told, Trace};
