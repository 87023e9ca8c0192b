//! The names of the lints. Scripts and comments rely on them: they are never renamed.

use std::fmt;

/// Which lint it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LintKind {
    /// No request meets the rule's condition, or another rule always decides before it.
    NeverMatches,
    /// An earlier tier of the group takes every request that the rule governs.
    UnreachableTier,
    /// The bucket holds less than one second's worth of its rate.
    BurstBelowRate,
    /// The bucket holds more than ten minutes' worth of its rate, and more than 1,000 tokens.
    AbsurdBurst,
    /// The client names the cost, and nothing but the burst bounds it.
    UnboundedCost,
    /// The client gets a fresh bucket by changing a part of the key.
    RotatableKey,
    /// A path where secrets are guessed, without a slow limit.
    LaxAuthPath,
    /// A rule that only watches in a policy that enforces.
    ForgottenShadow,
    /// A rule that is enforced for some keys only.
    PartialRollout,
    /// Reads and writes of a route draw the same cost from the same bucket, though the policy tells them apart elsewhere.
    SharedReadsAndWrites,
    /// A default tier that is understood from the order of the rules.
    ImplicitTier,
    /// A window of the calendar used as a limit.
    FixedWindow,
    /// Leaving out a part of the key means that nothing limits.
    UnlimitedWhenMissing,
    /// The rule depends on a token that nobody verifies.
    UnverifiedClaims,
    /// More rules apply to one request than may: it is refused.
    TooManyRules,
    /// Any peer is believed when it names the client's address.
    TrustsEveryone,
    /// A client that says the right thing is let through.
    SpoofableAllow,
    /// The store is asked for every request of a bucket that many clients share, though it could be leased.
    ExactSharedTier,
    /// A rule is to be leased and cannot be: it stays exact.
    CannotLease,
    /// How many instances share the limits while the store is down is not said.
    UnknownInstances,
    /// While the store is down the rule limits nothing.
    FailsOpen,
    /// The charges that an exact sliding window may have to remember are more than it has room for.
    LogEntries,
    /// Regexes and globs read much of one request.
    SlowPatterns,
    /// The shared store cannot keep the rule's limit exactly, and so the policy is refused there. Found by who knows the store, not by
    /// [`crate::Policy::lints`].
    CannotShare,
    /// A rule for `GET` that leaves `HEAD` out, which servers answer by the same handler.
    HeadUncovered,
}

impl LintKind {
    /// Every kind, in order.
    pub const ALL: [LintKind; 25] = [
        LintKind::NeverMatches,
        LintKind::UnreachableTier,
        LintKind::BurstBelowRate,
        LintKind::AbsurdBurst,
        LintKind::UnboundedCost,
        LintKind::RotatableKey,
        LintKind::LaxAuthPath,
        LintKind::ForgottenShadow,
        LintKind::PartialRollout,
        LintKind::SharedReadsAndWrites,
        LintKind::ImplicitTier,
        LintKind::FixedWindow,
        LintKind::UnlimitedWhenMissing,
        LintKind::UnverifiedClaims,
        LintKind::TooManyRules,
        LintKind::TrustsEveryone,
        LintKind::SpoofableAllow,
        LintKind::ExactSharedTier,
        LintKind::CannotLease,
        LintKind::UnknownInstances,
        LintKind::FailsOpen,
        LintKind::LogEntries,
        LintKind::SlowPatterns,
        LintKind::CannotShare,
        LintKind::HeadUncovered,
    ];

    /// Its name, in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            LintKind::NeverMatches => "never-matches",
            LintKind::UnreachableTier => "unreachable-tier",
            LintKind::BurstBelowRate => "burst-below-rate",
            LintKind::AbsurdBurst => "absurd-burst",
            LintKind::UnboundedCost => "unbounded-cost",
            LintKind::RotatableKey => "rotatable-key",
            LintKind::LaxAuthPath => "lax-auth-path",
            LintKind::ForgottenShadow => "forgotten-shadow",
            LintKind::PartialRollout => "partial-rollout",
            LintKind::SharedReadsAndWrites => "shared-reads-and-writes",
            LintKind::ImplicitTier => "implicit-tier",
            LintKind::FixedWindow => "fixed-window",
            LintKind::UnlimitedWhenMissing => "unlimited-when-missing",
            LintKind::UnverifiedClaims => "unverified-claims",
            LintKind::TooManyRules => "too-many-rules",
            LintKind::TrustsEveryone => "trusts-everyone",
            LintKind::SpoofableAllow => "spoofable-allow",
            LintKind::ExactSharedTier => "exact-shared-tier",
            LintKind::CannotLease => "cannot-lease",
            LintKind::UnknownInstances => "unknown-instances",
            LintKind::FailsOpen => "fails-open",
            LintKind::LogEntries => "log-entries",
            LintKind::SlowPatterns => "slow-patterns",
            LintKind::CannotShare => "cannot-share",
            LintKind::HeadUncovered => "head-uncovered",
        }
    }
}

/// Its name.
impl fmt::Display for LintKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_policies_lists_every_lint() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md")).unwrap();
        for kind in LintKind::ALL {
            assert!(page.contains(&format!("\n| `{kind}` | ")), "{kind}");
        }
    }

    #[test]
    fn every_name_is_its_own_and_in_kebab_case() {
        let mut names: Vec<_> = LintKind::ALL.iter().map(|kind| kind.name()).collect();
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LintKind::ALL.len());
        assert!(LintKind::ALL.is_sorted());
    }
}
