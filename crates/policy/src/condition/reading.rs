//! How a rule reads a request: what ambiguous values count as, and which form of the path it looks at.

use crate::path::PathForm;
use crate::{Action, Mode, Policy, Rule};

/// Result of a test of an ambiguous value. The table is in [`super::evaluation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Reading of rules that restrict: any of the values may meet the test.
    Wide,
    /// Under a `not` of such a rule: no value meets the test.
    WideNegated,
    /// Reading of rules that favor: no value meets the test.
    Strict,
    /// Under a `not` of such a rule: every value meets the test.
    StrictNegated,
}

/// How one condition is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Claims of tokens that were verified upstream count, too.
    pub(crate) trusts_upstream: bool,
    pub(crate) reading: Reading,
    pub(crate) form: PathForm,
}

impl Reading {
    /// How the rule at this position of the policy reads ambiguous values.
    ///
    /// A rule of a group is a tier, unless all others of its group are off or overrides that stand before it.
    pub(crate) fn of_rule(policy: &Policy, rule: &Rule) -> Reading {
        match rule.action {
            Action::Block => Reading::Wide,
            Action::Allow => Reading::Strict,
            Action::Limit(_) if rule.overrides.is_some() => Reading::Strict,
            Action::Limit(_) => {
                let group = rule.group.and_then(|group| policy.groups.get(group));
                let is_live_tier = |rule: &Rule| rule.overrides.is_none() && rule.mode != Mode::Off;
                let is_tier = |at: &&usize| policy.rules.get(**at).is_some_and(is_live_tier);
                let tiers = group.map_or(0, |group| group.rules.iter().filter(is_tier).take(2).count());
                if tiers > 1 { Reading::Strict } else { Reading::Wide }
            }
        }
    }

    /// The reading under one more `not`.
    #[must_use]
    pub(crate) const fn negated(self) -> Reading {
        match self {
            Reading::Wide => Reading::WideNegated,
            Reading::WideNegated => Reading::Wide,
            Reading::Strict => Reading::StrictNegated,
            Reading::StrictNegated => Reading::Strict,
        }
    }

    /// Whether a test of an ambiguous value holds; `any` says whether it does for any of its values.
    #[inline]
    pub(crate) fn of_ambiguous(self, any: impl FnOnce() -> bool) -> bool {
        match self {
            Reading::Wide => any(),
            Reading::WideNegated | Reading::Strict => false,
            Reading::StrictNegated => true,
        }
    }
}

impl View {
    /// The view under one more `not`.
    #[must_use]
    pub(crate) fn negated(self) -> View {
        View { reading: self.reading.negated(), ..self }
    }
}
