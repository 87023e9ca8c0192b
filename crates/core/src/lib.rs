//! The arithmetic of Tollgate: token buckets, and every other way to limit, as pure functions.
//!
//! State and time go in, state and verdict come out. Nothing here reads a clock, takes a lock or computes in floating
//! point, and only a [`Log`] allocates; whoever calls owns the state and says what time it is.
//!
//! ```
//! use tollgate_core::{Burst, Cost, Decision, Limit, Meter, Moment, Rate, Span, decide};
//!
//! let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
//! let start = Moment::from_nanos(0);
//! let meter = Meter::new(limit, start, 0);
//!
//! // A bucket is one word: how far the client has spent along the meter. A new client is full.
//! let mut mark = meter.level(start).full_mark();
//! for _ in 0..50 {
//!     let Decision::Admit { mark: spent, .. } = decide(&meter, mark, Cost::ONE, start) else { panic!() };
//!     mark = spent;
//! }
//! // The 51st at the same instant waits exactly one tenth of a second.
//! let Decision::Deny { wait, .. } = decide(&meter, mark, Cost::ONE, start) else { panic!() };
//! assert_eq!(wait, Span::from_millis(100));
//! # Ok::<(), tollgate_core::LimitError>(())
//! ```
//!
//! # Reading order
//! [`Moment`] and [`Span`], [`Tokens`], [`Rate`], [`Limit`]; then [`Meter`] (what a rule has minted), [`Mark`] (what
//! a client has spent), [`decide()`] (one bucket) and [`decide_all()`] (several, all or nothing). [`Stamped`] is the
//! other way to hold a bucket, for limits that the caller brings along with every call. [`Algorithm`], [`Ruler`] and [`Reading`]
//! are the same for all algorithms; each has a file of its own. The machines of a shared ledger come last: [`Lease`] and [`ask_ledger`],
//! [`Denial`], [`Breaker`], [`ProvenBalance`], [`LocalBucket`], [`Hold`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod algorithm;
mod booking;
mod breaker;
mod calendar;
mod concurrency;
mod decide;
mod decide_all;
mod decimal;
mod demand;
mod denial;
mod fixed_window;
mod from_float;
mod hold;
mod leaky_bucket;
mod lease;
mod limit;
mod local_bucket;
mod local_share;
mod mark;
mod meter;
mod proven_balance;
mod rate;
mod reading;
mod ruler;
mod sliding_counter;
mod sliding_log;
mod stamped;
mod stamped_level;
mod table_full;
mod time;
mod tokens;

pub use algorithm::Algorithm;
pub use booking::{Booking, DEBT_MAX, Unbookable};
pub use breaker::{Breaker, BreakerChange, BreakerState, Pass};
pub use calendar::{Window, WindowError};
pub use concurrency::{Concurrency, Generation, PLACES_MAX, PlacesReading};
pub use decide::{Decision, decide};
pub use decide_all::{BucketSet, CHARGES_MAX, Charged, JointDecision, decide_all};
pub use demand::Demand;
pub use denial::Denial;
pub use fixed_window::FixedWindow;
pub use from_float::{FloatError, FloatFault};
pub use hold::Hold;
pub use leaky_bucket::LeakyBucket;
pub use lease::{
    Answer, Ask, Asked, LEASE_LIFE, LEASE_LIFE_MAX, LEASE_LIFE_MIN, LEASE_NODES_MAX, LEASE_PAST_MAX,
    LEDGER_BURST_MICROS_MAX, Lease, LeaseTerms, LeaseTermsError, LedgerBucket, LedgerLimit, LedgerLimitError,
    LedgerSpend, NodeRecord, Spending, Taken, Unsuited, ask_ledger,
};
pub use limit::{Limit, LimitError};
pub use local_bucket::{Correction, LocalBucket, LocalDecision, LocalStart};
pub use local_share::LocalShare;
pub use mark::{Level, Mark, Spend};
pub use meter::Meter;
pub use proven_balance::ProvenBalance;
pub use rate::Rate;
pub use reading::Reading;
pub use ruler::{Ruler, Start};
pub use sliding_counter::{COUNTER_TOKENS_MAX, CounterReading, SlidingCounter};
pub use sliding_log::{LOG_ENTRIES_MAX, Log, SlidingLog};
pub use stamped::{Stamped, StampedDecision, decide_stamped};
pub use stamped_level::{StampedBalance, StampedLevel};
pub use table_full::TableFull;
pub use time::{Moment, Span};
pub use tokens::{Burst, Cost, Tokens};
