//! Limits within limits: a user's bucket under its team's under its organisation's.

use std::fmt;

use tollgate_core::{CHARGES_MAX, Cost};

use crate::key::{KEY_BYTES_MAX, Key, KeyKind};
use crate::rule::{Breadth, Charge, Rule};
use crate::{CheckError, Limiter, Verdict};

/// Rules from broad to narrow. A check names a path, and is charged to one bucket at every level of it, all or nothing.
///
/// A child is its parent's: team `core` of `acme` and team `core` of `globex` have two buckets.
///
/// ```
/// # use tollgate::*;
/// # let limit = |burst| Limit::new(Rate::per_hour(1), Burst::tokens(burst));
/// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit(1)?)?;
/// let levels = [
///     limiter.shared_rule("organisation", limit(100)?, Breadth::Everyone)?,
///     limiter.shared_rule("team", limit(10)?, Breadth::Group)?,
///     limiter.rule("user", limit(5)?)?,
/// ];
/// let limits = Hierarchy::new(&levels)?;
/// assert_eq!(limits.check(&["acme", "core", "ann"]).to_string(), "admitted, 4 left");
/// assert_eq!(limits.check_n(&["acme", "core", "bob"], Cost::tokens(5)).to_string(), "admitted, 0 left");
/// let verdict = limits.check_n(&["acme", "core", "ann"], Cost::tokens(4));
/// assert!(verdict.is_admitted(), "the team's last four");
/// let Verdict::Deny { denied, .. } = limits.check(&["acme", "core", "cid"]) else { panic!() };
/// assert!(denied.contains(1) && !denied.contains(0), "the team denied, the organisation did not");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hierarchy {
    levels: Vec<Rule>,
}

/// Why rules are no hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HierarchyError {
    /// No levels, or more than a check may have charges.
    LevelCount {
        /// How many there were.
        levels: usize,
    },
    /// A level that is broader than the one above it.
    Broader {
        /// Its position.
        level: usize,
        /// How broad it is.
        breadth: Breadth,
    },
    /// A rule of another limiter.
    Foreign {
        /// Its position.
        level: usize,
    },
}

/// A key that consists of parts, whatever the parts contain.
#[derive(Debug, Clone, Copy)]
pub struct Path<'p>(pub &'p [&'p str]);

impl Key for Path<'_> {
    fn with_bytes<T>(&self, use_it: impl FnOnce(KeyKind, &[u8]) -> T) -> T {
        // The length before each part: no part can pretend to be two.
        let bytes = self.0.iter().map(|part| part.len() + size_of::<u16>()).sum::<usize>();
        if bytes > KEY_BYTES_MAX {
            return use_it(KeyKind::Path, &vec![0; bytes]);
        }
        let (mut buffer, mut at) = ([0; KEY_BYTES_MAX], 0);
        for part in self.0 {
            // Shorter than KEY_BYTES_MAX, so it fits in two bytes.
            let length = u16::try_from(part.len()).unwrap_or(u16::MAX).to_le_bytes();
            buffer[at..at + 2].copy_from_slice(&length);
            buffer[at + 2..at + 2 + part.len()].copy_from_slice(part.as_bytes());
            at += 2 + part.len();
        }
        use_it(KeyKind::Path, &buffer[..at])
    }
}

impl Hierarchy {
    /// From the broadest level to the narrowest.
    pub fn new(levels: &[Rule]) -> Result<Hierarchy, HierarchyError> {
        if levels.is_empty() || levels.len() > CHARGES_MAX {
            return Err(HierarchyError::LevelCount { levels: levels.len() });
        }
        for (above, pair) in levels.windows(2).enumerate() {
            let (level, [parent, child]) = (above + 1, [&pair[0], &pair[1]]);
            if child.breadth() > parent.breadth() {
                return Err(HierarchyError::Broader { level, breadth: child.breadth() });
            }
            if child.shared.serial != parent.shared.serial {
                return Err(HierarchyError::Foreign { level });
            }
        }
        Ok(Hierarchy { levels: levels.to_vec() })
    }

    /// Asks for one token from every bucket on the path, which names one part for each level, or for the first few. A path that is
    /// too long or has an empty part is [`CheckError::BadPath`].
    pub fn check(&self, path: &[&str]) -> Verdict {
        self.check_n(path, Cost::ONE)
    }

    /// Asks for `cost` from every bucket on the path, all or nothing. The verdict names levels by their position.
    pub fn check_n(&self, path: &[&str], cost: Cost) -> Verdict {
        let charges: Vec<Charge> = self.charges(path, cost).collect();
        Limiter { default: self.levels[0].clone() }.check_all(&charges)
    }

    /// The charges of such a check, to be asked for together with others, or reserved.
    pub fn charges(&self, path: &[&str], cost: Cost) -> impl Iterator<Item = Charge> {
        let is_bad = path.len() > self.levels.len() || path.iter().any(|part| part.is_empty());
        let [parts, levels] =
            [path.len(), self.levels.len()].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let on_path = self.levels.iter().take(path.len()).enumerate();
        on_path.map(move |(level, rule)| {
            let charge = rule.charge_n(Path(&path[..=level]), cost);
            if is_bad {
                Charge { wish: Err(CheckError::BadPath { parts, levels }), ..charge }
            } else {
                charge
            }
        })
    }
}

impl fmt::Display for HierarchyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LevelCount { levels } => {
                write!(f, "`levels` has {levels} entries; use from 1 to {CHARGES_MAX}")
            }
            Self::Broader { level, breadth } => write!(
                f,
                "`levels[{level}]` is broader ({breadth:?}) than the one above it; give them from the broadest to the narrowest"
            ),
            Self::Foreign { level } => {
                write!(f, "`levels[{level}]` is a rule of another limiter; use rules of one")
            }
        }
    }
}

impl std::error::Error for HierarchyError {}
