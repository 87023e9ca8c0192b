//! A node's side of one leased bucket: spends what it holds, and says what to ask of the ledger and when.
//!
//! It promises to spend only what the ledger counts as held by this node at that moment, to have one ask on its way at a time, and to
//! give back what it does not use. It sends nothing and reads no clock: the caller says what time it is on the node's
//! monotonic clock, sends the asks, and hands in the answers. It does not know other buckets or other nodes.

use super::holdings::{Holdings, Pace, Renewal};
use super::local_demand::LocalDemand;
use super::{Answer, Ask, LeaseTerms};
use crate::{Cost, Denial, Moment, Span, Tokens};

/// A node that was not asked for anything for this part of a life gives back what it holds.
const IDLE_PARTS_OF_LIFE: u64 = 4;
/// After an ask that was lost or denied, the next one in advance waits for this part of a life, at least.
const RETRY_PARTS_OF_LIFE: u64 = 16;
/// What may be given ahead of time is what is minted in this part of a life.
const AHEAD_PARTS_OF_LIFE: u64 = 4;

/// What one node knows of one leased bucket. A new one holds nothing.
///
/// Not to be copied: a copy would spend everything twice. A node that starts anew must not take its old name: the ledger would take its asks for old ones.
#[derive(Debug, Default)]
pub struct Lease {
    holdings: Holdings,
    demand: LocalDemand,
    /// Of the last ask.
    seq: u64,
    on_its_way: Option<OnItsWay>,
    /// What the ledger said when it last could not give enough.
    denial: Option<Denial>,
    /// What was left to others by the last answer, micro-tokens; `None` before the first.
    balance: Option<i64>,
    /// No sooner than this is more asked for in advance.
    advance_from: Moment,
    /// Ascends whenever the ledger may have come to count less than was held here before.
    turn: u64,
}

/// What a check over several buckets has spent of a slice, until it is known whether the others can pay: [`Lease::take`].
#[derive(Debug)]
#[must_use = "what is not put back is spent"]
pub struct Taken {
    micros: u64,
    turn: u64,
}

/// An ask that was sent and not answered.
#[derive(Debug, Clone, Copy)]
struct OnItsWay {
    ask: Ask,
    sent: Moment,
    /// The ledger goes by the limit that was sent along, whatever it is when the answer comes.
    pace: Pace,
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
    /// Decides a check that this node holds enough for, if nothing has to be asked for in advance: what is ready to be spent after it.
    /// `None` of all others: nothing was spent or counted, and [`Lease::spend`] decides.
    #[inline]
    pub fn spend_at_once(&mut self, terms: &LeaseTerms, cost: Cost, now: Moment) -> Option<Tokens> {
        if terms.limit().never_admits(cost) {
            return None;
        }
        let micros = cost.as_micros();
        self.holdings.pass(now);
        let left = self.holdings.ready().as_micros().checked_sub(micros)?;
        let mut demand = self.demand;
        demand.count(micros, part_of_life(terms, 2), now);
        let want = self.want(&demand, terms, micros);
        if self.is_time_to_ask(want, self.holdings.held().saturating_sub(micros), now) {
            return None;
        }
        self.demand = demand;
        self.holdings.spend(micros);
        Some(Tokens::from_micros(left))
    }

    /// Decides a check at `now`, read before anything that is returned is sent.
    pub fn spend(&mut self, terms: &LeaseTerms, cost: Cost, now: Moment) -> Spending {
        if terms.limit().never_admits(cost) {
            return Spending::Never;
        }
        let micros = cost.as_micros();
        self.demand.count(micros, part_of_life(terms, 2), now);
        self.holdings.pass(now);
        if self.holdings.spend(micros) {
            let ask = self.in_advance(terms, micros, now);
            return Spending::Spent { remaining: self.holdings.ready(), ask };
        }
        if let Some(wait) = self.holdings.wait_for(micros, now) {
            return Spending::Denied { wait, ask: self.in_advance(terms, micros, now) };
        }
        let missing = micros - self.holdings.held().min(micros);
        let denied = self.denial.and_then(|denial| denial.wait(terms.limit(), Cost::micros(missing), now));
        if let Some(wait) = denied {
            return Spending::Denied { wait, ask: self.in_advance(terms, micros, now) };
        }
        if self.on_its_way.is_some() {
            return Spending::OnItsWay;
        }
        let want = self.want(&self.demand, terms, micros);
        Spending::Asks(self.ask(terms, want, missing, now))
    }

    /// Spends `cost` if it is ready, for a check that may yet come to nothing, and asks for nothing; `None` spends nothing. If the check is
    /// admitted, [`Lease::top_up`] follows, else [`Lease::put_back`].
    pub fn take(&mut self, terms: &LeaseTerms, cost: Cost, now: Moment) -> Option<Taken> {
        self.holdings.pass(now);
        if !self.holdings.spend(cost.as_micros()) {
            return None;
        }
        self.demand.count(cost.as_micros(), part_of_life(terms, 2), now);
        Some(Taken { micros: cost.as_micros(), turn: self.turn })
    }

    /// Puts back what was taken. Where the ledger was told meanwhile what is left here, it counts as spent, and `false` says so.
    #[expect(clippy::needless_pass_by_value, reason = "once: what was put back cannot be put back again")]
    pub fn put_back(&mut self, taken: Taken, now: Moment) -> bool {
        let Taken { micros, turn } = taken;
        let is_held = turn == self.turn;
        if is_held {
            self.holdings.pass(now);
            self.holdings.put_back(micros, now);
        }
        is_held
    }

    /// After what was taken for a check of `cost` is spent for good: more, if it is time to ask for more.
    pub fn top_up(&mut self, terms: &LeaseTerms, cost: Cost, now: Moment) -> Option<Ask> {
        self.holdings.pass(now);
        self.in_advance(terms, cost.as_micros(), now)
    }

    /// What was not spent in time, since this was last called.
    pub fn take_stranded(&mut self) -> Tokens {
        Tokens::from_micros(self.holdings.take_stranded())
    }

    /// Whether it holds nothing, waits for nothing, and was not asked for anything for two lives: then it may be forgotten, and another one
    /// begun under another name.
    pub fn is_over(&mut self, terms: &LeaseTerms, now: Moment) -> bool {
        self.holdings.pass(now);
        let life = terms.life();
        self.on_its_way.is_none() && self.holdings.is_empty() && now.since(self.demand.last()) >= life + life
    }

    /// The ledger's answer to the ask of this number, received at `now`. Others than the one on its way are ignored, and `false` says so.
    pub fn answered(&mut self, terms: &LeaseTerms, seq: u64, answer: &Answer, now: Moment) -> bool {
        let Some(OnItsWay { ask, sent, pace }) =
            self.on_its_way.filter(|on_its_way| on_its_way.ask.seq == seq)
        else {
            return false;
        };
        self.on_its_way = None;
        self.balance = Some(answer.balance);
        self.holdings.pass(now);
        let (granted, held) = (answer.granted.as_micros(), answer.held.as_micros());
        let wait = if granted > 0 { answer.wait } else { Span::ZERO };
        let (reported, renewed) = (ask.unspent.as_micros(), held.saturating_sub(granted));
        self.turn += u64::from(renewed < reported);
        self.holdings.renew(terms, Renewal { sent, pace, reported, renewed, granted, wait }, now);
        let is_denied = granted == 0 && ask.want > Tokens::ZERO;
        self.denial = is_denied.then(|| Denial::new(answer.balance, sent));
        self.advance_from = sent + Lease::pause_after(terms, &ask, answer, is_denied);
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
        self.holdings.pass(now);
        let back = self.holdings.take_all(terms, now);
        (back > 0).then(|| self.send(terms, [back, 0, 0], now))
    }

    /// Forgets what the ledger said of the balance, as after a refund, a grant or a change of the limit.
    pub fn forget_denial(&mut self) {
        self.denial = None;
        self.advance_from = Moment::default();
    }

    /// What may be spent at `now` without asking.
    pub fn ready(&mut self, now: Moment) -> Tokens {
        self.holdings.pass(now);
        self.holdings.ready()
    }

    /// What is held at `now`, ready or not: what the bucket lacks because of this node.
    pub fn held(&mut self, now: Moment) -> Tokens {
        self.holdings.pass(now);
        Tokens::from_micros(self.holdings.held())
    }

    /// What nobody held by the last answer: with what local mode starts if the store falls silent. `None` before the first answer.
    pub fn balance_seen(&self) -> Option<Tokens> {
        self.balance.map(|balance| Tokens::from_micros(balance.max(0).cast_unsigned()))
    }

    /// The ask that is on its way, to be sent again if it seems lost, and when it was first sent. Sent again it counts once, and what it
    /// is granted ends as if it had been answered the first time.
    pub fn on_its_way(&self) -> Option<(Ask, Moment)> {
        self.on_its_way.map(|on_its_way| (on_its_way.ask, on_its_way.sent))
    }

    /// More, when half a slice is left; a quarter while slices are granted ahead of time, which others need as well.
    fn in_advance(&mut self, terms: &LeaseTerms, cost: u64, now: Moment) -> Option<Ask> {
        let want = self.want(&self.demand, terms, cost);
        self.is_time_to_ask(want, self.holdings.held(), now).then(|| self.ask(terms, want, want, now))
    }

    /// Whether a node that wants so much and holds so much asks for more in advance.
    #[inline]
    fn is_time_to_ask(&self, want: u64, held: u64, now: Moment) -> bool {
        let enough = if self.balance.is_some_and(|balance| balance < 0) { want / 4 } else { want / 2 };
        self.on_its_way.is_none() && held < enough && now >= self.advance_from
    }

    /// How long after an ask the next one in advance may go: when as much could be given ahead of time again, if nobody else asks.
    fn pause_after(terms: &LeaseTerms, ask: &Ask, answer: &Answer, is_denied: bool) -> Span {
        let given_ahead = answer.balance.saturating_add(terms.ahead_max().cast_signed());
        let short = ask.want.as_micros().cast_signed().saturating_sub(given_ahead).max(0).cast_unsigned();
        let pause = terms.limit().time_to_mint(Tokens::from_micros(short));
        if !is_denied {
            return pause;
        }
        // It may also be that others hold too much.
        let ahead = part_of_life(terms, AHEAD_PARTS_OF_LIFE);
        pause.max(answer.wait - ahead).max(part_of_life(terms, RETRY_PARTS_OF_LIFE))
    }

    /// The size of the next slice: what half a life will need, as far as the balance allows, and at least the cost.
    #[inline]
    fn want(&self, demand: &LocalDemand, terms: &LeaseTerms, cost: u64) -> u64 {
        demand.expected().min(terms.slice_max(self.balance.unwrap_or(0))).max(cost)
    }

    fn ask(&mut self, terms: &LeaseTerms, want: u64, least: u64, now: Moment) -> Ask {
        let back = self.holdings.take_lapsed(terms, now);
        self.send(terms, [back, want, least], now)
    }

    /// What is given back is out of the holdings by now, so that it cannot be spent.
    fn send(&mut self, terms: &LeaseTerms, [back, want, least]: [u64; 3], now: Moment) -> Ask {
        self.seq += 1;
        self.turn += 1;
        let ask = Ask {
            seq: self.seq,
            unspent: Tokens::from_micros(self.holdings.held()),
            back: Tokens::from_micros(back),
            want: Tokens::from_micros(want),
            least: Tokens::from_micros(least),
        };
        self.on_its_way = Some(OnItsWay { ask, sent: now, pace: Pace::of(terms.limit()) });
        ask
    }
}

fn part_of_life(terms: &LeaseTerms, parts: u64) -> Span {
    Span::from_nanos(terms.life().as_nanos() / parts)
}

#[cfg(test)]
mod tests;
