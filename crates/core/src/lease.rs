//! Leases: a node takes a prepaid slice of a shared bucket and spends it without asking. Two machines, no wires.
//!
//! ```text
//!   node                                   ledger (a script in the store)
//!   ┌───────────┐  Ask: unspent, back, want ┌──────────────────────────────┐
//!   │ Lease     │ ────────────────────────► │ LedgerBucket   balance, held │   balance + held ≤ burst, always
//!   │ ready     │                           │ NodeRecord     held, answer  │
//!   │ vesting   │ ◄──────────────────────── │                              │
//!   └───────────┘  Answer: granted, wait    └──────────────────────────────┘
//!        life ends at send + T · 0.999           a slice is taken back T to 2T after the ask was processed
//! ```
//!
//! A naive prepaid lease breaks the promise: what was leased before an interval lies outside the bucket while that refills. So
//! what is held counts against the burst, and a slice ends on its node before the ledger takes it back. With `P = balance + held` the
//! spends of an interval are `P(start) − P(end) + minted − lost`, at most `burst + rate · d`, over all nodes, whatever messages are
//! lost, doubled or late and whoever crashes.
//!
//! Outside the promise, and bounded by what is held at that moment: a store that loses writes or steps its clock forward, and a
//! node whose monotonic clock runs more than one part in a thousand faster or slower than the store's, or stands still while the machine sleeps.

mod holdings;
mod ledger;
mod ledger_bucket;
mod ledger_limit;
mod local_demand;
mod message;
mod node;
mod terms;

pub use ledger::{Asked, NodeRecord, ask_ledger};
pub use ledger_bucket::{LedgerBucket, LedgerSpend};
pub use ledger_limit::{LEDGER_BURST_MICROS_MAX, LedgerLimit, LedgerLimitError};
pub use message::{Answer, Ask};
pub use node::{Lease, Spending, Taken};
pub use terms::{
    LEASE_LIFE, LEASE_LIFE_MAX, LEASE_LIFE_MIN, LEASE_NODES_MAX, LEASE_PAST_MAX, LeaseTerms, LeaseTermsError,
    Unsuited,
};
