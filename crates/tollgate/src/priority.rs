//! Who is denied last: shares of every bucket that are kept for more important traffic.

use std::fmt;

use crate::rule::Rule;

/// How important a check is. The more important, the later it is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// What can wait: crawlers, exports, retries.
    Bulk,
    /// What nobody has said anything about.
    Normal,
    /// What a person waits for.
    Important,
    /// What must not fail: payments, health checks, log-ins.
    Critical,
}

/// What part of each bucket is kept for traffic of which importance, in percent.
///
/// A check of some priority is admitted only if what is kept for more important ones stays in the bucket. So under overload
/// bulk traffic is denied first and critical traffic last; as long as there is enough, nobody notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shares {
    /// Percent kept for each priority and all above it, by [`Priority`]'s order; ascending.
    kept_for: [u8; 4],
}

/// Why shares are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShareError {
    /// All shares together are more than the bucket, or leave nothing for those below.
    TooMuch {
        /// What they come to, in percent.
        percent: u32,
    },
    /// A share for the lowest priority, which is everybody.
    OfBulk,
}

impl Shares {
    /// No shares: every priority is the same.
    pub const NONE: Shares = Shares { kept_for: [0; 4] };

    /// Keeps `percent` of every bucket for checks of this priority and above, besides what is kept for others already. All shares
    /// together are at most 99 %.
    pub const fn keep(self, priority: Priority, percent: u8) -> Result<Shares, ShareError> {
        if matches!(priority, Priority::Bulk) {
            return Err(ShareError::OfBulk);
        }
        let mut kept_for = self.kept_for;
        kept_for[priority as usize] = percent;
        let total = kept_for[1] as u32 + kept_for[2] as u32 + kept_for[3] as u32;
        if total > 99 { Err(ShareError::TooMuch { percent: total }) } else { Ok(Shares { kept_for }) }
    }

    /// Percent that a check of this priority must leave alone.
    pub const fn left_alone_by(self, priority: Priority) -> u8 {
        let mut percent = 0;
        let mut above = priority as usize + 1;
        while above < self.kept_for.len() {
            percent += self.kept_for[above];
            above += 1;
        }
        percent
    }
}

impl Rule {
    /// A handle on the same buckets for checks of one priority: they leave alone what `shares` keep for more important ones.
    /// Everything that is done with it (checks, charges, reservations) counts as of this priority; `remaining` is what it may
    /// still spend. Where that leaves a share alone, [`Rule::acquire`] does not wait: it is admitted at once, or told how long to wait.
    ///
    /// ```
    /// # use tollgate::*;
    /// # let limit = Limit::new(Rate::per_hour(1), Burst::tokens(10))?;
    /// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
    /// let shares = Shares::NONE.keep(Priority::Critical, 20)?;
    /// let [bulk, critical] =
    ///     [Priority::Bulk, Priority::Critical].map(|priority| limiter.default_rule().of_priority(priority, shares));
    /// let admitted = |rule: &Rule| (0..20).filter(|_| rule.check("ann").is_admitted()).count();
    /// assert_eq!((admitted(&bulk), admitted(&critical)), (8, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_priority(&self, priority: Priority, shares: Shares) -> Rule {
        self.keeping(shares.left_alone_by(priority))
    }
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMuch { percent } => {
                write!(
                    f,
                    "`shares` come to {percent} %, which leaves nothing for bulk traffic; keep at most 99 %"
                )
            }
            Self::OfBulk => {
                write!(f, "`priority` is bulk, below which there is nobody to keep a share from; use another")
            }
        }
    }
}

impl std::error::Error for ShareError {}
