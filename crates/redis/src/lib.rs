//! The shared ledger of Tollgate: one limit across a fleet, kept on Redis or Valkey.
//!
//! # By URL alone
//! A [`SharedLimiter`] has rules, checks of several buckets, and limits that come with the call; [`limiter`] enforces a policy, and
//! `tollgate_tower::TollgateLayer` takes it as it is. Whoever opens the same URL keeps the same limits. While the store does not answer within the
//! deadline (15 ms), every rule does what it says: unless told otherwise this instance's share of the limit decides.
//!
//! ```no_run
//! use tollgate::{Burst, Limit, Rate};
//! use tollgate::policy::{Facts, Policy};
//! use tollgate_redis::SharedLimiter;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let limiter = SharedLimiter::open("redis://localhost")?;
//! let user = limiter.rule("user", Limit::new(Rate::per_second(10), Burst::tokens(50))?)?;
//! if !user.check("user:42").await.is_admitted() {
//!     return Ok(()); // not now
//! }
//!
//! let policy = Policy::parse("policy.yaml", "{name: client, scope: ip, rate: 10/s, burst: 50}")?;
//! let limiter = tollgate_redis::limiter("redis://localhost", policy)?;
//! limiter.decide(&Facts::new("GET", "/")).await.is_admitted();
//! # Ok(())
//! # }
//! ```
//!
//! # Beneath
//! First comes the part that knows no connection: what is asked of the server, and what its answer means. A [`Batch`] of checks and
//! other operations becomes one [`Call`] of a script; the [`Reply`] becomes what each of them is [`Told`]. The script decides by the
//! arithmetic of `tollgate-core`, bit for bit, on the server's own clock. Its arguments, its replies and the names of keys are a
//! contract that other languages may use: see `docs/redis-script.md`.
//!
//! ```
//! use tollgate_redis::{Batch, Charge, KeySpace, SharedLimit};
//! use tollgate_core::{Burst, Cost, Limit, Rate};
//!
//! let limit = SharedLimit::explicit(&Limit::new(Rate::per_second(10), Burst::tokens(50))?)?;
//! let keys = KeySpace::default();
//! let mut batch = Batch::new();
//! batch.check(&[Charge::new(keys.explicit("user:42")?, &limit, Cost::ONE)])?;
//! let call = batch.call();
//! assert_eq!(call.keys[0], b"tg:*:user:42");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Reading order
//! [`Script`], [`KeySpace`] and [`KeyName`], [`SharedLimit`]; [`LimitHistory`] and [`Declaration`] for limits that change; [`Batch`],
//! [`Call`], [`Reply`], [`Told`], [`ServerError`]. Then the part that has connections: [`StoreUrl`], [`Link`], [`LinkError`], [`Coalescer`], [`Survey`].
//! Then [`RedisLedger`], and what is made of it: [`SharedLimiter`], [`SharedRule`], [`SharedOptions`], [`limiter`].
#![forbid(unsafe_code)]

mod batch;
mod batch_error;
mod batch_reply;
mod call;
mod checked;
mod declaration;
mod item;
mod key_name;
mod limit_history;
mod limit_words;
mod reply;
mod reservation_record;
mod rule_identity;
mod run;
mod script;
mod server_error;
mod shared_limit;
mod terms;
mod told;
mod words;

mod ledger;
mod link;

mod by_url;
mod open_error;
mod shared_limiter;
mod shared_options;
mod shared_rule;

pub use batch::{BATCH_BYTES_MAX, Batch, ITEMS_MAX, KEYS_MAX};
pub use batch_error::BatchError;
pub use call::Call;
pub use checked::{BucketTold, Checked, Outcome, Receipt};
pub use declaration::{Declaration, DeclareError, DeclareStep, HISTORY_LIFETIME};
pub use item::{Charge, Correction, RESERVATION_TIMEOUT_MAX};
pub use key_name::{KEY_NAME_BYTES_MAX, KeyName, KeySpace, KeySpaceError};
pub use limit_history::{Declared, HistoryError, LimitHistory, PAST_LIMITS_MAX};
pub use reply::{Reply, ReplyError};
pub use reservation_record::{Note, NotedCharge, NotedLimit};
pub use rule_identity::RuleIdentity;
pub use script::{SCRIPT_VERSION, Script};
pub use server_error::ServerError;
pub use shared_limit::SharedLimit;
pub use told::{Changed, KeyFault, Told};
pub use tollgate::ledger::LimitRefused;

pub use by_url::limiter;
pub use open_error::{OpenError, SharedRuleError};
pub use shared_limiter::{RULES_MAX, SharedLimiter};
pub use shared_options::{RuleTerms, SharedOptions};
pub use shared_rule::{GiveError, SharedCharge, SharedRule};

pub use ledger::{LATENCY_BOUNDS_MICROS, LedgerCounts, LedgerOptions, RedisLedger};
pub use link::{
    ADDRESSES_MAX, Address, AskError, Coalescer, CoalescerCounts, CoalescerOptions, DATABASE_MAX, DialError,
    Finding, Link, LinkCounts, LinkError, LinkOptions, LinkStatus, LinkWatch, Login, Pending, Role, SLOTS,
    Secret, ServerKind, ServerSeen, Severity, StoreUrl, StoreUrlError, Survey, TlsError, TlsWish, Topology,
    URL_BYTES_MAX, slot_of,
};
