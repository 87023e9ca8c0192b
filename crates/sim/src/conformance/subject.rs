//! What a store looks like to the suite, in the suite's own words.
//!
//! A store implements [`Subject`] in its tests; one that is asynchronous blocks inside. Every call says what time it is.
//! The suite does not know how a store keeps its buckets, or where.

use std::fmt;
use std::net::IpAddr;

use tollgate_core::{BucketSet, Cost, Limit, Moment, Span, Tokens};

/// A store under test. Rules are declared before they are used, and never removed.
pub trait Subject {
    /// Declares a rule; its buckets are full. The name is new.
    fn rule(&mut self, name: &str, breadth: Breadth, limit: Limit, now: Moment) -> RuleId;

    /// Declares another limit for the buckets of the rule `of`; see [`RuleId`]. The name is new to that rule.
    fn tier(&mut self, of: RuleId, name: &str, limit: Limit, now: Moment) -> RuleId;

    /// Changes the limit of a rule or tier from `now` on (A9).
    fn set_limit(&mut self, rule: RuleId, limit: Limit, now: Moment);

    /// One check of one bucket.
    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome;

    /// One check of several buckets, all or nothing (A5).
    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome;

    /// Several checks of one bucket each, which have nothing to do with one another.
    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome>;

    /// What [`Subject::check`] would be told. Spends nothing.
    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome;

    /// Who says what time it is. A store with a clock of its own answers [`ClockControl::OfTheStore`]; scenarios in which
    /// time must be at a certain point are then left out, and the report names them.
    fn clock(&self) -> ClockControl {
        ClockControl::OfTheSuite
    }
}

/// Who says what time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockControl {
    /// The `now` of each call.
    OfTheSuite,
    /// The store; `now` is ignored.
    OfTheStore,
}

/// A rule, or one of its tiers: the same buckets under another limit. A bucket that is checked under another tier than
/// before keeps its balance, up to the new burst. (Whether a *full* bucket is remembered is the store's affair: it may also
/// come back as full as the new tier allows. The suite asks no store for either.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(pub usize);

/// How many clients share a bucket of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    /// One.
    Client,
    /// Many.
    Group,
    /// All.
    Everyone,
}

/// Whose bucket. Keys of two kinds are never the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// A number.
    Number(u64),
    /// A network address.
    Address(IpAddr),
}

/// Giant keys are shown by their beginning and length.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Bytes(bytes) if bytes.len() > KEY_BYTES_SHOWN_MAX => {
                write!(f, "\"{}…\" ({} bytes)", bytes[..KEY_BYTES_SHOWN_MAX].escape_ascii(), bytes.len())
            }
            Key::Bytes(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Key::Number(number) => write!(f, "{number}"),
            Key::Address(address) => write!(f, "{address}"),
        }
    }
}

/// How much of a key is shown.
const KEY_BYTES_SHOWN_MAX: usize = 32;

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::Bytes(text.as_bytes().to_vec())
    }
}

/// What a check asks of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The rule, or the tier.
    pub rule: RuleId,
    /// Whose bucket.
    pub key: Key,
    /// How much.
    pub cost: Cost,
}

/// The answer to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every bucket was charged.
    Admit {
        /// What is left in the one that has least left.
        remaining: Tokens,
    },
    /// Not now, and nothing was charged.
    Deny {
        /// The longest of the waits.
        wait: Span,
        /// What is held by the denying bucket that holds least.
        remaining: Tokens,
        /// The positions of all charges whose buckets denied.
        denied: BucketSet,
    },
    /// Not ever, and nothing was charged.
    Never {
        /// The positions of all charges whose buckets are too small.
        denied: BucketSet,
    },
    /// The store had no room for another bucket. No scenario expects it: the suite needs room for 1,000 keys.
    Crowded,
    /// The check itself is at fault; nothing was charged.
    Invalid(Fault),
}

/// What is wrong with a check. Of several faults the one of the first charge is told, its cost before its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A key without bytes.
    EmptyKey,
    /// A key above [`KEY_BYTES_MAX`].
    KeyTooLong,
    /// A cost of nothing.
    ZeroCost,
    /// A check of no buckets.
    NoCharges,
    /// A check of more than [`tollgate_core::CHARGES_MAX`].
    TooManyCharges,
    /// One bucket under two tiers in one check.
    TierConflict,
}

/// Longest key that a store must take, and longest that it may.
pub const KEY_BYTES_MAX: usize = 512;

impl Outcome {
    /// Whether the buckets were charged.
    pub fn is_admitted(&self) -> bool {
        matches!(self, Outcome::Admit { .. })
    }
}
