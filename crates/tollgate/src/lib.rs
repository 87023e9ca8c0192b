//! Exact, fast, bounded token-bucket rate limiting in process.
//!
//! A *bucket* holds up to `burst` tokens and refills continuously at `rate`. A *check* takes tokens out, or is denied and
//! takes none. In every interval of length d at most `burst + rate · d` is admitted, over all threads, to one millionth of a
//! token. There is no window to slip between, no thread in the background, and no map that grows.
//!
//! # A limited function
//! ```
//! use tollgate::{Burst, Limit, Limiter, Rate, Verdict};
//!
//! fn greet(limiter: &Limiter, user: &str) -> Result<String, Verdict> {
//!     let verdict = limiter.check(user);
//!     if verdict.is_admitted() { Ok(format!("hello, {user}")) } else { Err(verdict) }
//! }
//!
//! // Ten a second for each user, and up to fifty at once.
//! let limiter = Limiter::new(Limit::new(Rate::per_second(10), Burst::tokens(50))?);
//! assert!(greet(&limiter, "user:42").is_ok());
//! # Ok::<(), tollgate::LimitError>(())
//! ```
//! Make one [`Limiter`] and keep it: clones share all state. `check` takes `&self` from any thread, never awaits and, but
//! for a sliding log, never allocates. A new client starts with a full bucket.
//!
//! # Keys and costs
//! A [`Key`] is text, bytes, an integer, an address, or `()` for one bucket that all share. The number 42, the text "42" and
//! the address 0.0.0.42 are three clients. A [`Cost`] may be a fraction of a token.
//! ```
//! # use tollgate::*;
//! # let limiter = Limiter::new(Limit::new(Rate::per_second(10), Burst::tokens(50))?);
//! limiter.check(std::net::Ipv4Addr::new(192, 0, 2, 7)).is_admitted();
//! let verdict = limiter.check_n(42_u64, Cost::micros(500_000)); // half a token
//! assert_eq!(verdict.to_string(), "admitted, 49.5 left");
//! # Ok::<(), LimitError>(())
//! ```
//!
//! # What a denial says, and tests without waiting
//! Tests give the limiter a [`Clock::manual`], which stands still until told otherwise. The wait of a denial is exact:
//! ```
//! # use tollgate::*;
//! let clock = Clock::manual(Moment::default());
//! let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
//! let limiter = Limiter::builder().clock(clock.clone()).build(limit)?;
//! assert!(limiter.check_n("a", Cost::tokens(50)).is_admitted());
//! match limiter.check("a") {
//!     Verdict::Deny { wait, remaining, .. } => {
//!         assert_eq!((wait, remaining), (Span::from_millis(100), Tokens::ZERO));
//!         clock.advance(wait); // a nanosecond less would not do
//!         assert!(limiter.check("a").is_admitted());
//!     }
//!     verdict => panic!("{verdict}"),
//! }
//! // A cost above the burst is told apart: no wait will help.
//! assert!(matches!(limiter.check_n("a", Cost::tokens(51)), Verdict::Never { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! [`Verdict::retry_after`] gives the wait as a [`Duration`](std::time::Duration). Round it *up* for an HTTP `Retry-After`:
//! whole seconds rounded down send clients back too early.
//!
//! # Several limits, all or nothing
//! A limiter holds any number of named rules. [`Limiter::check_all`] charges one bucket of each, or none of them.
//! ```
//! # use tollgate::*;
//! # let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
//! # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
//! let user = limiter.rule("user", Limit::new(Rate::per_second(1), Burst::tokens(2))?)?;
//! let service = limiter.shared_rule("service", limit, Breadth::Everyone)?;
//! for _ in 0..2 {
//!     assert!(limiter.check_all(&[user.charge(7), service.charge(())]).is_admitted());
//! }
//! let Verdict::Deny { denied, .. } = limiter.check_all(&[user.charge(7), service.charge(())]) else { panic!() };
//! assert!(denied.contains(0) && !denied.contains(1), "the user denied, the service did not");
//! assert_eq!(service.check(()).to_string(), "admitted, 47 left", "and was charged for two");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! Many checks that have nothing to do with one another are a batch: [`Limiter::check_each`] is faster than one by one.
//!
//! # Tiers, and limits that change
//! A tier is another limit for the same buckets; the caller picks the tier for each check. A client that changes tier keeps
//! its balance. So does everyone when [`Rule::set_limit`] changes a limit: a larger burst is room to refill into.
//! ```
//! # use tollgate::*;
//! # let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
//! # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
//! let free = limiter.default_rule();
//! let pro = free.tier("pro", Limit::new(Rate::per_second(100), Burst::tokens(500))?)?;
//! assert!(free.check_n("a", Cost::tokens(20)).is_admitted());
//! assert_eq!(pro.check("a").to_string(), "admitted, 29 left");
//! pro.set_limit(Limit::new(Rate::per_second(200), Burst::tokens(1_000))?)?;
//! assert_eq!(pro.check("a").to_string(), "admitted, 28 left");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Limits may lie within limits: a [`Hierarchy`] charges a user, its team and its organisation together. And a part of every
//! bucket may be kept for what matters most: see [`Rule::of_priority`].
//!
//! # Limits that come with the call
//! Whoever speaks for others (a service, a proxy) often gets rate and burst with every request. [`Limiter::explicit`] takes them
//! as arguments; a key whose limit changes keeps its balance. These buckets have a bounded table of their own.
//! ```
//! # use tollgate::*;
//! # let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
//! # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
//! let told = limiter.explicit().check("tenant:7", &limit, Cost::tokens(20));
//! assert_eq!((told.remaining.whole(), told.time_to_full), (30, Span::from_secs(2)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Other algorithms
//! A token bucket is right for nearly everything. Where it is not, a rule may be a [`LeakyBucket`] (lets out evenly, and says
//! when), a [`SlidingLog`] (exact over every window, remembers every charge), a [`SlidingCounter`] (nearly so, in one word), a
//! [`FixedWindow`] of the calendar (for invoices, not for protection) or a limit on [`Concurrency`]. All of them can be charged
//! together in one check.
//! ```
//! # use tollgate::*;
//! # let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
//! # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
//! let exports = limiter.rule("exports", Concurrency::new(2, Span::from_secs(600))?)?;
//! let monthly = limiter.rule("monthly", FixedWindow::new(Burst::tokens(10_000), Window::MONTH)?)?;
//! let guard = limiter.enter_all(&[exports.charge("ann"), monthly.charge("ann")]);
//! assert!(guard.is_ok(), "one of ann's two places is taken until the guard is dropped");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is not known yet, and what came to nothing
//! [`Rule::reserve`] charges an estimate, to be [committed](Reservation::commit) at its true cost or
//! [cancelled](Reservation::cancel). [`Rule::refund`] gives back, [`Rule::grant`] gives, [`Rule::reset`] fills; none of them
//! makes a bucket fuller than full. [`Rule::check_once`] charges a check once however often it is retried.
//! [`Limiter::live_buckets`] lists who is not full.
//!
//! # Bounded memory
//! [`LimiterBuilder::keys_max`] fixes the size of the table, [`KEYS_DEFAULT`] unless told otherwise. A full bucket holds no
//! information and gives up its place first. When there is no full one either, [`TableFull`] says what becomes of a newcomer,
//! and [`Limiter::stats`] counts it. If `evicted`, `denied_new` or `overflowed` grows, ask for more keys. No
//! client gains a token by being evicted: see [`TableFull::Inherit`].
//! ```
//! # use tollgate::*;
//! # let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
//! let limiter = Limiter::builder().keys_max(1_000_000).table_full(TableFull::DenyNew).build(limit)?;
//! assert_eq!(limiter.stats().denied_new, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Restarts
//! [`Limiter::save`] writes all balances to a file, [`LimiterBuilder::restore`] continues from it: a deploy is no free burst.
//! ```
//! # use tollgate::*;
//! # let limit = Limit::new(Rate::per_hour(1), Burst::tokens(2))?;
//! # let file = std::env::temp_dir().join(format!("tollgate-doc-{}", std::process::id()));
//! let limiter = Limiter::builder().restore(&file).build(limit)?; // no such file yet: all buckets are full
//! assert!(limiter.check_n("a", Cost::tokens(2)).is_admitted());
//! limiter.save(&file)?;
//! let restarted = Limiter::builder().restore(&file).build(limit)?;
//! assert!(!restarted.check("a").is_admitted());
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//! A limit that cannot be kept exactly is refused when it is made ([`LimitError`], [`WindowError`], [`FloatError`]), as are
//! settings ([`BuildError`]), rules ([`RuleError`]) and snapshots ([`SnapshotError`]). A check never fails half-way: if its key or cost
//! makes no sense the verdict is [`Verdict::Invalid`], which is a bug to fix, not a client to slow down. No key, cost or
//! moment makes it panic.
//!
//! # Waiting
//! [`Limiter::acquire`] waits instead of denying: first come, first served, for calls that go out. Whoever waits has booked its
//! tokens, so no check is admitted before its turn. Threads call [`Acquire::blocking`]; with the feature `tokio` tasks await it,
//! and one that is dropped gives its place back.
//! ```
//! # use tollgate::*;
//! let limiter = Limiter::new(Limit::new(Rate::per_second(100), Burst::tokens(1))?);
//! for _ in 0..3 {
//!     limiter.acquire("api.example.com", Cost::ONE).within(Span::from_secs(1)).blocking()?; // one every 10 ms
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//! It does not share buckets between processes; a rule once declared stays. Time spent suspended does not count as time.
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(feature = "policy")]
mod answer;
mod builder;
mod charged;
mod clock;
mod expiring;
mod explicit;
mod explicit_once;
mod explicit_reservation;
mod explicit_verdict;
mod guard;
mod hierarchy;
mod identity;
#[cfg(feature = "jwt")]
pub mod jwt;
mod key;
mod keyed_hash;
#[cfg(feature = "policy")]
pub mod ledger;
mod limiter;
mod live_bucket;
mod memory;
mod once;
mod operations;
#[cfg(feature = "policy")]
mod policy_limiter;
mod priority;
mod reservation;
mod reservation_id;
mod revival;
mod rule;
mod seqlock;
mod settle_error;
mod shared;
mod snapshot;
mod snapshot_file;
mod stats;
mod sync;
mod verdict;
mod waiting;

#[cfg(loom)]
pub mod proof;

#[cfg(feature = "policy")]
pub use answer::{
    Answer, Answering, DraftFields, GrpcAnswer, Outcome, Refusal, RefusalKind, Standing, StoreMode, Violation,
};
pub use builder::{BuildError, EXPLICIT_KEYS_DEFAULT, KEYS_DEFAULT, LOG_ENTRIES_DEFAULT, LimiterBuilder};
pub use charged::Settled;
pub use clock::{CLOCK_ERROR_MAX, Clock};
pub use explicit::{Explicit, ExplicitCharge};
pub use explicit_verdict::ExplicitVerdict;
pub use guard::{Guard, Left};
pub use hierarchy::{Hierarchy, HierarchyError, Path};
pub use key::{KEY_BYTES_MAX, Key, KeyKind};
pub use limiter::Limiter;
pub use live_bucket::LiveBucket;
pub use memory::TableFull;
pub use memory::explicit::table::EXPLICIT_KEY_BYTES;
pub use memory::table::{KEY_BYTES, KEYS_MAX};
pub use once::IDEMPOTENCY_KEYS_DEFAULT;
pub use operations::Given;
#[cfg(feature = "policy")]
pub use policy_limiter::{
    Asking, BucketError, Deciding, Decision, InForce, NamedBucket, NamedBuckets, NoBuckets, PolicyError,
    PolicyLimiter, Refused, RuleClient, RuleStats,
};
pub use priority::{Priority, ShareError, Shares};
pub use reservation::{RESERVATIONS_DEFAULT, Reservation};
pub use reservation_id::{ReservationId, ReservationIdError, ReservationIds};
pub use rule::{Breadth, Charge, Rule};
pub use settle_error::{ReserveError, SettleError};
pub use shared::{LIMITS_MAX, NAME_BYTES_MAX, RuleError};
pub use snapshot::SnapshotFault;
pub use snapshot_file::{SnapshotError, sweep_unfinished_saves};
pub use stats::{ExplicitStats, Stats};
pub use tollgate_core::{
    Algorithm, BucketSet, Burst, CHARGES_MAX, COUNTER_TOKENS_MAX, Concurrency, Cost, DEBT_MAX, FixedWindow,
    FloatError, FloatFault, LOG_ENTRIES_MAX, LeakyBucket, Limit, LimitError, Moment, PLACES_MAX, Rate,
    SlidingCounter, SlidingLog, Span, Tokens, Window, WindowError,
};
#[cfg(feature = "policy")]
pub use tollgate_policy as policy;
pub use verdict::{Cause, CheckError, Verdict};
pub use waiting::{Acquire, AcquireError, Acquired, LATENESS_MAX, WAITERS_DEFAULT, WAITERS_MAX};
