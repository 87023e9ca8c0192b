//! A policy: all that a file says, as it is true. Made by the parser alone; nothing past it checks again.

use crate::{
    AnswerSettings, ClientAddressSettings, JwtSettings, KillSwitch, Mode, PathEncoded, Rule, StoreSettings,
};

/// A compiled policy. Swapped whole; balances outlive it.
#[derive(Debug, Clone)]
pub struct Policy {
    /// What it is called in metrics and keys; `default` unless the file says otherwise.
    pub name: Box<str>,
    /// Bounds the mode of every rule: in a policy that is `shadow` no rule enforces, in one that is `off` none applies.
    pub mode: Mode,
    /// In the order of the file, those of groups in their place.
    pub rules: Vec<Rule>,
    /// Of each group's rules the first that matches applies. The other rules all apply.
    pub groups: Vec<Group>,
    /// What refuses requests until further notice.
    pub kill_switches: Vec<KillSwitch>,
    /// Treatment of paths with encoded slashes and the like.
    pub path_encoded: PathEncoded,
    /// How answers look.
    pub answers: AnswerSettings,
    /// Whose word is taken for the client's address.
    pub client_address: ClientAddressSettings,
    /// The line of the file where that is said, from 1; 1 if it is not.
    pub client_address_line: u32,
    /// By which keys tokens are verified; none are believed otherwise.
    pub jwt: Option<JwtSettings>,
    /// What it says of a store that several instances share. `None`: nothing, so the usual settings hold if there is one.
    pub store: Option<StoreSettings>,
    /// The line of the file where that is said, from 1; 1 if it is not.
    pub store_line: u32,
}

/// Rules of which only the first that matches applies: tiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: Box<str>,
    /// Positions in [`Policy::rules`], in order.
    pub rules: Vec<usize>,
    /// Not written out: a rule without `match` that follows rules of the same keys is their default tier.
    pub is_implicit: bool,
}
