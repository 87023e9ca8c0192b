//! A node's side of one leased bucket: spends what it holds, and says what to ask of the ledger and when.
//!
//! It promises to spend only what the ledger counts as held by this node at that moment, to have one ask on its way at a time, and to
//! give back what it does not use. It sends nothing and reads no clock: the caller says what time it is on the node's
//! monotonic clock, sends the asks, and hands in the answers. It does not know other buckets or other nodes.

use super::holdings::Holdings;
use super::local_demand::LocalDemand;
use super::{Answer, Ask, LeaseTerms};
use crate::{Cost, Denial, Moment, Span, Tokens};

/// A node that was not asked for anything for this part of a life gives back what it holds.
const IDLE_PARTS_OF_LIFE: u64 = 4;
/// After an ask that was lost, and while there is something to spend, the next one waits for this part of a life.
const RETRY_PARTS_OF_LIFE: u64 = 16;

/// What one node knows of one leased bucket. A new one holds nothing.
///
/// A node that starts anew must not take its old name: the ledger would take its asks for old ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lease {
    holdings: Holdings,
    demand: LocalDemand,
    /// Of the last ask.
    seq: u64,
    on_its_way: Option<OnItsWay>,
    /// What the ledger said when it last could not give enough.
    denial: Option<Denial>,
    /// What was left to others by the last answer, micro-tokens.
    balance: i64,
    /// No sooner than this is more asked for in advance.
    advance_from: Moment,
}

/// An ask that was sent and not answered.
#[derive(Debug, Clone, Copy)]
struct OnItsWay {
    ask: Ask,
    sent: Moment,
}

/// What becomes of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Admitted, from what this node holds.
    Spent {
        /// What is ready to be spent after it, here.
        remaining: Tokens,
        /// To be sent, if there: more is asked for in advance. Nobody waits for it.
        ask: Option<Ask>,
    },
    /// To be sent; when it is answered, or lost, the check is decided by calling again.
    Asks(Ask),
    /// An answer is on its way; when it is there, or lost, the check is decided by calling again.
    OnItsWay,
    /// Denied.
    Denied {
        /// How long until there is enough, by what this node knows.
        wait: Span,
        /// To be sent, if there, as above.
        ask: Option<Ask>,
    },
    /// Not ever: the cost is above the burst.
    Never,
}

impl Lease {
    /// Decides a check at `now`, read before anything that is returned is sent.
    pub fn spend(&mut self, terms: &LeaseTerms, cost: Cost, now: Moment) -> Spending {
        if terms.limit().never_admits(cost) {
            return Spending::Never;
        }
        let micros = cost.as_micros();
        self.demand.count(micros, part_of_life(terms, 2), now);
        self.holdings.pass(terms.limit(), now);
        if self.holdings.spend(micros) {
            let ask = self.in_advance(terms, micros, now);
            return Spending::Spent { remaining: self.holdings.ready(), ask };
        }
        if let Some(wait) = self.holdings.wait_for(terms.limit(), micros, now) {
            return Spending::Denied { wait, ask: self.in_advance(terms, micros, now) };
        }
        let missing = micros - self.holdings.held().min(micros);
        let denied = self.denial.and_then(|denial| denial.wait(terms.limit(), Cost::micros(missing), now));
        if let Some(wait) = denied {
            return Spending::Denied { wait, ask: None };
        }
        if self.on_its_way.is_some() {
            return Spending::OnItsWay;
        }
        let want = self.want(terms, micros);
        Spending::Asks(self.ask(terms, want, missing, now))
    }

    /// The ledger's answer to the ask of this number, received at `now`. Others than the one on its way are ignored, and `false` says so.
    pub fn answered(&mut self, terms: &LeaseTerms, seq: u64, answer: &Answer, now: Moment) -> bool {
        let Some(OnItsWay { ask, sent }) = self.on_its_way.filter(|on_its_way| on_its_way.ask.seq == seq)
        else {
            return false;
        };
        self.on_its_way = None;
        self.balance = answer.balance;
        self.holdings.pass(terms.limit(), now);
        let (granted, held) = (answer.granted.as_micros(), answer.held.as_micros());
        let wait = if granted > 0 { answer.wait } else { Span::ZERO };
        self.holdings.renew(terms, sent, held.saturating_sub(granted), granted, wait, now);
        let is_denied = granted == 0 && ask.want > Tokens::ZERO;
        self.denial = is_denied.then(|| Denial::new(answer.balance, sent));
        self.advance_from = if is_denied { sent + answer.wait } else { Moment::default() };
        true
    }

    /// The ask of this number was lost, or its answer was, or is too late to be waited for. It renews nothing: should its
    /// answer come after all, it is ignored.
    pub fn lost(&mut self, terms: &LeaseTerms, seq: u64, now: Moment) {
        if self.on_its_way.is_some_and(|on_its_way| on_its_way.ask.seq == seq) {
            self.on_its_way = None;
            self.advance_from = now + part_of_life(terms, RETRY_PARTS_OF_LIFE);
        }
    }

    /// To be called now and then, about four times in a life: gives back what is held for nobody, or what has lapsed.
    pub fn idle(&mut self, terms: &LeaseTerms, now: Moment) -> Option<Ask> {
        let is_idle = now.since(self.demand.last()) >= part_of_life(terms, IDLE_PARTS_OF_LIFE);
        if is_idle { self.give_back(terms, now) } else { None }
    }

    /// Gives back all that is held, as when the node stops; `None` if that is nothing, or if an answer is on its way: then
    /// again when it is there.
    pub fn give_back(&mut self, terms: &LeaseTerms, now: Moment) -> Option<Ask> {
        if self.on_its_way.is_some() {
            return None;
        }
        self.holdings.pass(terms.limit(), now);
        let back = self.holdings.take_all(terms, now);
        (back > 0).then(|| self.send(back, 0, 0, now))
    }

    /// Forgets what the ledger said of the balance, as after a refund, a grant or a change of the limit.
    pub fn forget_denial(&mut self) {
        self.denial = None;
        self.advance_from = Moment::default();
    }

    /// What may be spent at `now` without asking.
    pub fn ready(&mut self, terms: &LeaseTerms, now: Moment) -> Tokens {
        self.holdings.pass(terms.limit(), now);
        self.holdings.ready()
    }

    /// What is held at `now`, ready or not: what the bucket lacks because of this node.
    pub fn held(&mut self, terms: &LeaseTerms, now: Moment) -> Tokens {
        self.holdings.pass(terms.limit(), now);
        Tokens::from_micros(self.holdings.held())
    }

    /// The ask that is on its way, to be sent again if it seems lost, and when it was first sent. Sent again it counts once, and what it
    /// is granted ends as if it had been answered the first time.
    pub fn on_its_way(&self) -> Option<(Ask, Moment)> {
        self.on_its_way.map(|on_its_way| (on_its_way.ask, on_its_way.sent))
    }

    /// More, when half a slice is left.
    fn in_advance(&mut self, terms: &LeaseTerms, cost: u64, now: Moment) -> Option<Ask> {
        let want = self.want(terms, cost);
        if self.on_its_way.is_some() || self.holdings.held() >= want / 2 || now < self.advance_from {
            return None;
        }
        Some(self.ask(terms, want, want, now))
    }

    /// The size of the next slice: what half a life will need, as far as the balance allows, and at least the cost.
    fn want(&self, terms: &LeaseTerms, cost: u64) -> u64 {
        self.demand.expected().min(terms.slice_max(self.balance)).max(cost)
    }

    fn ask(&mut self, terms: &LeaseTerms, want: u64, least: u64, now: Moment) -> Ask {
        let back = self.holdings.take_lapsed(terms, now);
        self.send(back, want, least, now)
    }

    /// What is given back is out of the holdings by now, so that it cannot be spent.
    fn send(&mut self, back: u64, want: u64, least: u64, now: Moment) -> Ask {
        self.seq += 1;
        let ask = Ask {
            seq: self.seq,
            unspent: Tokens::from_micros(self.holdings.held()),
            back: Tokens::from_micros(back),
            want: Tokens::from_micros(want),
            least: Tokens::from_micros(least),
        };
        self.on_its_way = Some(OnItsWay { ask, sent: now });
        ask
    }
}

fn part_of_life(terms: &LeaseTerms, parts: u64) -> Span {
    Span::from_nanos(terms.life().as_nanos() / parts)
}
