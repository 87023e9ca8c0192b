//! What became of a check, as far as its client may know.

use tollgate_core::Span;

use super::{Standing, reason};
use crate::Cause;

/// What became of a check.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// Go ahead.
    Admitted {
        /// The bucket that has least left ([`Standing::tightest`]); `None` if no rule applied.
        tightest: Option<Standing<'a>>,
    },
    /// Not now: 429.
    Denied {
        /// The exact wait: the longest of those of the rules that denied.
        wait: Span,
        /// Whether buckets hold too little, or the table has no room.
        cause: Cause,
        /// The rules that denied.
        violated: &'a [Violation<'a>],
    },
    /// Not ever, the cost is above the burst: 429 without `Retry-After`.
    Never {
        /// The rules that can never admit it; their waits mean nothing.
        violated: &'a [Violation<'a>],
    },
    /// No bucket was asked.
    Refused(Refusal<'a>),
    /// The store does not answer, and the rule fails closed: 503.
    Unavailable {
        /// When the store may be tried again.
        wait: Span,
    },
}

/// One rule that denied.
#[derive(Debug, Clone, Copy)]
pub struct Violation<'a> {
    /// Its bucket, which was not charged.
    pub standing: Standing<'a>,
    /// When this rule would admit the check.
    pub wait: Span,
    /// The rule's own name for a denial; `None`: by the algorithm.
    pub reason: Option<&'a str>,
    /// What the rule tells people; `None`: what is left, and the wait.
    pub message: Option<&'a str>,
}

/// A request that was refused without asking a bucket.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    /// What refused it.
    pub kind: RefusalKind,
    /// The name of the rule or kill switch.
    pub by: &'a str,
    /// The rule's own name for it; `None`: by the kind.
    pub reason: Option<&'a str>,
    /// What people are told; a kill switch's reason, for instance.
    pub message: Option<&'a str>,
    /// In how many seconds it ends, if that is known.
    pub expires_in_s: Option<u64>,
}

/// What refuses requests without asking a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// A `block` rule, or a client that was blocked: 403.
    Blocked,
    /// A part of the key is missing, and the rule denies such requests: 403.
    KeyMissing,
    /// The path has an encoded slash or the like, and the policy refuses such paths: 400.
    PathEncoded,
    /// A kill switch: 503.
    KillSwitch,
    /// More rules apply than can be charged together, so some would not be enforced: 503.
    TooManyRules,
}

impl<'a> Violation<'a> {
    /// A denial that is called and explained as its algorithm's are.
    pub const fn new(standing: Standing<'a>, wait: Span) -> Violation<'a> {
        Violation { standing, wait, reason: None, message: None }
    }

    /// What this rule's denial is called, for machines.
    pub fn called(&self) -> &'a str {
        self.reason.unwrap_or(self.standing.reason())
    }
}

impl<'a> Outcome<'a> {
    /// What the client may know: an outcome that only shadow rules had a hand in is an admission without a word about them.
    pub(super) fn without_shadows(self) -> Outcome<'a> {
        match self {
            Outcome::Admitted { tightest: Some(standing) } if standing.is_shadow() => {
                Outcome::Admitted { tightest: None }
            }
            Outcome::Denied { violated, .. } | Outcome::Never { violated }
                if !violated.is_empty()
                    && violated.iter().all(|violation| violation.standing.is_shadow()) =>
            {
                Outcome::Admitted { tightest: None }
            }
            outcome => outcome,
        }
    }

    pub(super) const fn status(&self) -> u16 {
        match self {
            Outcome::Admitted { .. } => 200,
            Outcome::Denied { .. } | Outcome::Never { .. } => 429,
            Outcome::Refused(Refusal { kind: RefusalKind::Blocked | RefusalKind::KeyMissing, .. }) => 403,
            Outcome::Refused(Refusal { kind: RefusalKind::PathEncoded, .. }) => 400,
            Outcome::Refused(_) | Outcome::Unavailable { .. } => 503,
        }
    }

    /// The exact time after which trying again may help; `None` if it was admitted, or if nobody can tell.
    pub(super) fn wait(&self) -> Option<Span> {
        match self {
            Outcome::Denied { wait, .. } | Outcome::Unavailable { wait } => Some(*wait),
            Outcome::Refused(refusal) => refusal.expires_in_s.map(Span::from_secs),
            Outcome::Admitted { .. } | Outcome::Never { .. } => None,
        }
    }

    /// The rules that denied, without shadows.
    pub(super) fn violated(&self) -> impl Iterator<Item = &'a Violation<'a>> + use<'a> {
        let violated = match *self {
            Outcome::Denied { violated, .. } | Outcome::Never { violated } => violated,
            Outcome::Admitted { .. } | Outcome::Refused(_) | Outcome::Unavailable { .. } => &[],
        };
        violated.iter().filter(|violation| !violation.standing.is_shadow())
    }

    /// The rule that one must wait for longest; of several, the one with least left.
    pub(super) fn decisive(&self) -> Option<&'a Violation<'a>> {
        self.violated()
            .min_by_key(|violation| (std::cmp::Reverse(violation.wait), violation.standing.remaining()))
    }

    /// The bucket that header fields tell of.
    pub(super) fn standing(&self) -> Option<Standing<'a>> {
        match self {
            Outcome::Admitted { tightest } => *tightest,
            _ => self.decisive().map(|violation| violation.standing),
        }
    }

    /// Why it was not admitted, for machines; `None` if it was.
    pub(super) fn reason(&self) -> Option<&'a str> {
        Some(match self {
            Outcome::Admitted { .. } => return None,
            Outcome::Denied { cause: Cause::TableFull(_), .. } => reason::TABLE_FULL,
            Outcome::Denied { .. } => self.decisive().map_or(reason::EXCEEDED, Violation::called),
            Outcome::Never { .. } => reason::COST_EXCEEDS_BURST,
            Outcome::Refused(refusal) => refusal.reason.unwrap_or(reason::of_refusal(refusal.kind)),
            Outcome::Unavailable { .. } => reason::STORE_UNAVAILABLE,
        })
    }
}
