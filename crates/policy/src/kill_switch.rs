//! Refusing requests until further notice.

use crate::{Condition, Source};

/// Refuses what it governs, until it is taken out of the policy or expires.
#[derive(Debug, Clone)]
pub struct KillSwitch {
    /// Its name.
    pub name: Box<str>,
    /// Which requests.
    pub condition: Condition,
    /// Why, for clients and for people.
    pub reason: Box<str>,
    /// Until when, in seconds since 1970; `None`: until it is taken out.
    pub until_unix_s: Option<u64>,
    /// Claims of tokens that nobody verified here count for it, too, as they do for the rule that it is about.
    pub trusts_upstream_claims: bool,
    /// Who says so.
    pub source: Source,
    /// The line of the file where it begins, from 1; 0 of an order.
    pub line: u32,
}
