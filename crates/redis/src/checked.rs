//! What a check is told: the numbers of the server, and the verdict they make.

use tollgate::{Cause, ExplicitVerdict, Verdict};
use tollgate_core::{BucketSet, Span, Tokens};

use crate::SharedLimit;
use crate::item::Wanted;

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every bucket was charged; of a peek, would have been.
    Admitted,
    /// Nothing was charged: a bucket holds too little.
    Denied,
    /// Nothing was charged: a cost is above what a full bucket holds.
    Never,
}

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Whether it was admitted.
    pub outcome: Outcome,
    /// It was a retry, and is told what the first was told.
    pub is_retold: bool,
    /// The server's time, in microseconds since 1970.
    pub now_micros: u64,
    /// Every bucket once, in the order of the charges.
    pub buckets: Vec<BucketTold>,
}

/// One bucket of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketTold {
    /// Which charges of the check these are.
    pub members: BucketSet,
    /// What it holds after the check, in micro-tokens; negative is debt.
    pub balance: i64,
    /// What it has to spend, after the check, for a check like this one: less what must be kept for others.
    pub remaining: Tokens,
    /// How long until it can pay, to the microsecond; zero if it can, `None` if it never will.
    pub wait: Option<Span>,
    /// How long whoever was admitted must wait before it leaves a leaky bucket.
    pub delay: Span,
    /// What to say when the charge is given back; of a check that was not admitted it means nothing.
    pub receipt: Receipt,
    /// How long until it is full, if nobody spends.
    pub time_to_full: Span,
}

/// A charge that was made, as the script knows it again: see [`crate::Batch::let_go`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Where the charge left the bucket; of places the generation, of a sliding counter the window's number, of a log when it counts as
    /// made.
    pub paid: i64,
    /// When it was made, in microseconds since 1970.
    pub made_micros: u64,
}

/// The three numbers of one bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) balance: i64,
    /// Microseconds; negative is never.
    pub(crate) wait: i64,
    /// Microseconds until the bucket's stamp; of places the generation, of a sliding counter the window's number.
    pub(crate) third: u64,
    /// Microseconds until it is full, where the server says so.
    pub(crate) full: Option<u64>,
}

impl BucketTold {
    pub(crate) fn new(
        wanted: &Wanted,
        limit: &SharedLimit,
        outcome: Outcome,
        now: u64,
        numbers: Numbers,
    ) -> BucketTold {
        let Numbers { balance, wait, third, full } = numbers;
        let (ahead, receipt) = limit.receipt(balance, third, now);
        let least = limit.least();
        let has_least = balance >= 0 && balance.unsigned_abs() >= least;
        let keep = wanted.keep.div_ceil(limit.step()).saturating_mul(limit.step());
        let free = balance.saturating_sub_unsigned(keep).max(0).unsigned_abs();
        let before = balance.saturating_add_unsigned(wanted.cost);
        let is_admitted = outcome == Outcome::Admitted;
        BucketTold {
            members: wanted.members,
            balance,
            remaining: Tokens::from_micros(if has_least { free } else { 0 }),
            wait: u64::try_from(wait).ok().map(Span::from_micros),
            delay: if is_admitted { limit.delay(before, now, ahead) } else { Span::ZERO },
            receipt,
            time_to_full: full
                .map(Span::from_micros)
                .or_else(|| limit.time_to_full(balance, now, ahead))
                .unwrap_or(Span::ZERO),
        }
    }

    fn is_denying(&self) -> bool {
        self.wait != Some(Span::ZERO)
    }
}

impl Checked {
    /// Whether to go ahead.
    pub fn is_admitted(&self) -> bool {
        self.outcome == Outcome::Admitted
    }

    /// The verdict, as memory would word it.
    pub fn verdict(&self) -> Verdict {
        let least = |buckets: &mut dyn Iterator<Item = &BucketTold>| {
            buckets.map(|bucket| bucket.remaining).min().unwrap_or(Tokens::ZERO)
        };
        match self.outcome {
            Outcome::Admitted => Verdict::Admit {
                remaining: least(&mut self.buckets.iter()),
                delay: self.buckets.iter().map(|bucket| bucket.delay).max().unwrap_or(Span::ZERO),
            },
            Outcome::Denied => {
                let denying = || self.buckets.iter().filter(|bucket| bucket.is_denying());
                Verdict::Deny {
                    wait: denying().filter_map(|bucket| bucket.wait).max().unwrap_or(Span::ZERO),
                    remaining: least(&mut denying()),
                    denied: union(denying()),
                    cause: Cause::Exceeded,
                }
            }
            Outcome::Never => {
                Verdict::Never { denied: union(self.buckets.iter().filter(|bucket| bucket.wait.is_none())) }
            }
        }
    }

    /// The verdict of a check whose limits came with the call, as memory would word it.
    pub fn explicit_verdict(&self) -> ExplicitVerdict {
        let is_meant = |bucket: &&BucketTold| match self.outcome {
            Outcome::Admitted => true,
            Outcome::Denied => bucket.is_denying(),
            Outcome::Never => bucket.wait.is_none(),
        };
        let first = |bucket: &BucketTold| bucket.members.iter().next().unwrap_or(0);
        let tightness =
            |bucket: &&BucketTold| (bucket.remaining, std::cmp::Reverse(bucket.time_to_full), first(bucket));
        let tightest = self.buckets.iter().filter(is_meant).min_by_key(tightness);
        ExplicitVerdict {
            verdict: self.verdict(),
            remaining: tightest.map_or(Tokens::ZERO, |bucket| bucket.remaining),
            time_to_full: tightest.map_or(Span::ZERO, |bucket| bucket.time_to_full),
            tightest: tightest.map_or(0, first),
        }
    }
}

fn union<'b>(buckets: impl Iterator<Item = &'b BucketTold>) -> BucketSet {
    buckets.fold(BucketSet::EMPTY, |all, bucket| all.union(bucket.members))
}
