//! One rule: which requests it governs, which key picks the bucket, and what the bucket allows.

use tollgate_core::Algorithm;

use crate::{Condition, Consistency, CostPlan, KeySource, OnStoreFailure, Source, TableSettings};

/// A compiled rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Unique within the policy.
    pub name: Box<str>,
    /// What it is about, for people and for metrics.
    pub scope: Scope,
    /// What picks the bucket, in order; with none, one bucket is shared by all.
    pub keys: Vec<KeySource>,
    /// What becomes of a request that lacks a part of the key.
    pub missing: Missing,
    /// Which requests it governs.
    pub condition: Condition,
    /// What it does with them.
    pub action: Action,
    /// What a request costs.
    pub cost: CostPlan,
    /// Whether it is in force.
    pub mode: Mode,
    /// Of so many percent of the keys it is enforced, of the others it is a shadow. 0 to 100.
    pub rollout_percent: u8,
    /// Claims of tokens that nobody verified here count, too: someone upstream has verified them (`jwt_trust`).
    pub trusts_upstream_claims: bool,
    /// How instances share its buckets, where they share a store.
    pub consistency: Consistency,
    /// What becomes of its requests while that store does not answer.
    pub on_store_failure: OnStoreFailure,
    /// Its bounds in the table of this program.
    pub table: TableSettings,
    /// Position in [`crate::Policy::groups`], if it is in one.
    pub group: Option<usize>,
    /// Statuses of responses for which the charge is given back.
    pub refund_statuses: Vec<u16>,
    /// The response header that holds the true cost; the request's cost is then an estimate.
    pub settle_header: Option<Box<str>>,
    /// What a denial is called; `None`: by the algorithm (`token_bucket_exceeded`).
    pub reason: Option<Box<str>>,
    /// What people are told when it denies.
    pub message: Option<Box<str>>,
    /// Who says so.
    pub source: Source,
    /// Position in [`crate::Policy::rules`] of the rule that it stands before for one client, if a standing order made it.
    pub overrides: Option<usize>,
    /// The line of the file or the entry where it begins, from 1; 0 of a row or an order.
    pub line: u32,
}

/// What a rule does with the requests it governs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Charges a bucket.
    Limit(Algorithm),
    /// Lets them through, whatever other rules say.
    Allow,
    /// Refuses them.
    Block,
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One client: a user, an API key.
    User,
    /// One client address; of IPv6, one network of 64 bits.
    Ip,
    /// A network prefix, or clients of one make.
    Network,
    /// Many users of one customer.
    Organisation,
    /// One route.
    Endpoint,
    /// Everything.
    Global,
}

/// Whether a rule is in force. From least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// It is as if it were not there.
    Off,
    /// It has its own buckets and is reported, but never seen by clients.
    Shadow,
    /// It denies.
    Enforce,
}

/// What becomes of a request that lacks a part of a rule's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    /// All such requests share one bucket.
    Anonymous,
    /// The rule does not apply.
    Skip,
    /// It is refused.
    Deny,
}

impl Rule {
    /// Where it begins, for messages: `on line 3`, `in row 7`.
    pub(crate) fn place_text(&self) -> String {
        self.source.at(self.line)
    }
}

impl Scope {
    /// How policies and answers spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Ip => "ip",
            Scope::Network => "network",
            Scope::Organisation => "organisation",
            Scope::Endpoint => "endpoint",
            Scope::Global => "global",
        }
    }
}

impl Mode {
    /// How policies spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Shadow => "shadow",
            Mode::Enforce => "enforce",
        }
    }

    /// The mode that is spelt so.
    pub fn parse(name: &str) -> Option<Mode> {
        [Mode::Off, Mode::Shadow, Mode::Enforce].into_iter().find(|mode| mode.name() == name)
    }
}
