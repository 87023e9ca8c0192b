//! A policy put together from everything that has a say: the file, entries, plain rows, standing orders.
//!
//! ```text
//!  file      rule a   group b {rule c, rule d}
//!  entries            group b {rule d, rule e}   rule f
//!  rows                                                   user-1  global-4
//!  in force  rule a   group b {rule d, rule e}   rule f   user-1  global-4      each with the orders about it
//! ```

use crate::{Entry, Mistakes, PlainRow, Policy, StandingOrder, Stop};

/// Everything that has a say in a policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// The name of the policy file, for messages, and its text. `None`: there is none, and all its settings are the usual ones.
    pub file: Option<(&'a str, &'a str)>,
    /// Rules and groups from a database.
    pub entries: &'a [Entry],
    /// Plain limits from a database.
    pub plain_rows: &'a [PlainRow],
    /// What operators have ordered.
    pub orders: &'a [StandingOrder],
    /// The time, in seconds since 1970: orders that have expired are nothing.
    pub now_unix_s: i64,
    /// Ends the composition early if another thread asks for it. `None`: it is not asked.
    pub stop: Option<&'a Stop>,
}

/// A policy put together, and what there is to know about it.
#[derive(Debug, Clone)]
pub struct Composition {
    /// What is to be put in force.
    pub policy: Policy,
    /// What stands in for what, what is inactive, which order has expired or has no effect: a sentence each.
    pub notes: Vec<String>,
    /// When the next order expires, in seconds since 1970: the policy has to be put together anew then.
    pub next_expiry_unix_s: Option<i64>,
}

impl Policy {
    /// Puts a policy together. Standing orders count before entries, entries before the file; plain rows stand beside both.
    ///
    /// Refused whole, with every mistake of every source, or true as it stands. With nothing but a file it is what
    /// [`Policy::parse`] makes of it.
    ///
    /// ```
    /// # use tollgate_policy::*;
    /// let file = ("policy.yaml", "{name: per-user, scope: user, rate: 10/s, burst: 50}");
    /// let tighter = Entry {
    ///     name: "per-user".to_owned(),
    ///     text: "{name: per-user, scope: user, rate: 1/s, burst: 5}".to_owned(),
    ///     is_active: true,
    /// };
    /// let composed = Policy::compose(&Sources { file: Some(file), entries: &[tighter], ..Sources::default() })?;
    /// assert_eq!(composed.policy.rules[0].source, Source::Entry("per-user".into()));
    /// assert_eq!(composed.notes, ["entry \"per-user\" stands in for the rule `per-user` on line 1 of policy.yaml"]);
    /// # Ok::<(), Mistakes>(())
    /// ```
    pub fn compose(sources: &Sources<'_>) -> Result<Composition, Mistakes> {
        crate::text::compose(sources)
    }
}
