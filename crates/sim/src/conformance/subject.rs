//! What a store looks like to the suite, in the suite's own words.
//!
//! A store implements [`Subject`] in its tests; one that is asynchronous blocks inside. Every call says what time it is.
//! The suite does not know how a store keeps its buckets, or where.

use std::fmt;
use std::net::IpAddr;

use tollgate_core::{Algorithm, Cost, Moment, Span, Tokens};

use super::answer::{Fault, Given, Left, Outcome, SettleFault, Settled};
use super::precision::Precision;

/// A store under test. Rules are declared before they are used, and never removed.
pub trait Subject {
    /// Declares a rule; its buckets are full. The name is new.
    fn rule(&mut self, name: &str, breadth: Breadth, limit: Algorithm, now: Moment) -> RuleId;

    /// Declares another limit for the buckets of the rule `of`; see [`RuleId`]. The name is new to that rule. `None`, and no
    /// number is used up, if the rule's buckets mean nothing under that limit.
    fn tier(&mut self, of: RuleId, name: &str, limit: Algorithm, now: Moment) -> Option<RuleId>;

    /// Changes the limit of a rule or tier from `now` on (A9). Whether its buckets mean something under the new one: the
    /// algorithm is the same, the length of a sliding window and the timeout of places are. If not, nothing changes.
    fn set_limit(&mut self, rule: RuleId, limit: Algorithm, now: Moment) -> bool;

    /// One check of one bucket.
    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome;

    /// One check of several buckets, all or nothing (A5).
    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome;

    /// Several checks of one bucket each, which have nothing to do with one another.
    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome>;

    /// What [`Subject::check`] would be told. Spends nothing.
    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome;

    /// [`Subject::check_all`], but a retry of an admitted one with the same idempotency key within `lifetime` of its
    /// admission is told the same and costs nothing (A12).
    fn check_once(&mut self, key: &Key, lifetime: Span, charges: &[Charge], now: Moment) -> Outcome;

    /// One check of several buckets, all or nothing, which holds the places that it takes under a ticket that is new.
    fn enter(&mut self, ticket: Ticket, charges: &[Charge], now: Moment) -> Outcome;

    /// Gives back the places of a ticket that was admitted and has not been given back.
    fn leave(&mut self, ticket: Ticket, now: Moment) -> Left;

    /// Charges estimates, all or nothing, to be settled under a ticket that is new, before `timeout` is over (A11).
    fn reserve(
        &mut self,
        ticket: Ticket,
        charges: &[Charge],
        timeout: Span,
        now: Moment,
    ) -> Result<(), Outcome>;

    /// Settles a reservation.
    fn settle(
        &mut self,
        ticket: Ticket,
        settlement: &Settlement,
        now: Moment,
    ) -> Result<Settled, SettleFault>;

    /// Gives back what a charge has cost, at most until the bucket is full (A11).
    fn refund(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault>;

    /// Gives so much as the charge costs, at most until the bucket is full.
    fn grant(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault>;

    /// Fills the charge's bucket and frees its places; the cost is ignored.
    fn reset(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault>;

    /// What the charge's bucket holds and the charge may spend of it; the cost is ignored.
    fn balance(&mut self, charge: &Charge, now: Moment) -> Result<Tokens, Fault>;

    /// Who says what time it is. A store with a clock of its own answers [`ClockControl::OfTheStore`]; scenarios in which
    /// time must be at a certain point are then left out, and the report names them.
    fn clock(&self) -> ClockControl {
        ClockControl::OfTheSuite
    }

    /// How finely it tells time. The suite asks it for no more, and compares no more than that.
    fn precision(&self) -> Precision {
        Precision::default()
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charge {
    /// The rule, or the tier.
    pub rule: RuleId,
    /// Whose bucket.
    pub key: Key,
    /// How much.
    pub cost: Cost,
    /// What the bucket must still hold afterwards, in percent of a full one (rounded down to a hundredth of it, in
    /// micro-tokens): kept for checks of higher priority. Below 100.
    pub left_alone: u8,
}

/// A name for a reservation, or for places that are held. The suite gives each once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub usize);

/// How a reservation is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Every charge at this cost; all estimates are the same.
    Commit(Cost),
    /// Each charge at its own cost, in their order.
    CommitEach(Vec<Cost>),
    /// Nothing was done.
    Cancel,
}

/// Longest key that a store must take, and longest that it may.
pub const KEY_BYTES_MAX: usize = 512;
