//! One ask, decided by the ledger: the specification of the lease script, bit for bit.
//!
//! A pure function over the bucket, the node's record and the store's clock. It promises that what is granted and not yet
//! taken back, with the balance, is never above the burst; and that an ask counts once, however often it arrives. It does not know how
//! either is stored; records and bucket must be read and written together, atomically.

use super::{Answer, Ask, LeaseTerms, LedgerBucket};
use crate::{Span, Tokens};

/// What the ledger remembers of one node and one bucket. An absent one holds nothing. Not needed once it is two lives of a
/// slice old, and must be kept until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeRecord {
    /// Of the last ask that counted.
    pub seq: u64,
    /// The bucket's epoch at that time.
    pub epoch: u64,
    /// What was said then: `held` of it is in the bucket's `held_new` or `held_old`, by epoch.
    pub answer: Answer,
}

/// What becomes of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// For the node; `None` if a later ask has been answered, so that nobody waits for this one.
    pub answer: Option<Answer>,
    /// To be stored; `None` if nothing has changed: an ask that counted before, or a denial of a node that holds nothing.
    pub write: Option<(LedgerBucket, NodeRecord)>,
}

/// Decides the ask of one node at `now` (µs of the store's clock).
pub fn ask_ledger(
    terms: &LeaseTerms,
    bucket: Option<LedgerBucket>,
    record: Option<NodeRecord>,
    ask: &Ask,
    now: u64,
) -> Asked {
    if let Some(record) = record
        && ask.seq <= record.seq
    {
        return Asked { answer: (ask.seq == record.seq).then_some(record.answer), write: None };
    }
    let stored_stamp = bucket.map_or(now, |bucket| bucket.stamp);
    let mut bucket = bucket.unwrap_or(LedgerBucket::full(terms, now)).at(terms, now);

    // What the node reports replaces what it was known to hold. It cannot hold more than it was given.
    let held = taken_out(&mut bucket, record);
    let unspent = ask.unspent.as_micros().min(held);
    let back = ask.back.as_micros().min(held - unspent);
    // No more is given back than there is room for, where the burst was lowered meanwhile; though it was raised again.
    let most = bucket.full_beside(terms, unspent, bucket.stamp).max(bucket.balance);
    bucket.balance = (bucket.balance + back.cast_signed()).min(most);
    let (granted, ahead) = granted(terms, &bucket, ask, unspent);

    bucket.balance -= granted.cast_signed();
    bucket.held_new += unspent + granted;
    let wait = if granted > 0 {
        ahead
    } else if ask.want > Tokens::ZERO {
        bucket.wait_for(terms, least(terms, ask), bucket.stamp)
    } else {
        0
    };
    // A clock behind the stamp mints nothing until it has caught up.
    let lag = if wait > 0 { bucket.stamp.saturating_sub(now) } else { 0 };
    let answer = Answer {
        granted: Tokens::from_micros(granted),
        wait: Span::from_micros(wait + lag),
        held: Tokens::from_micros(unspent + granted),
        balance: bucket.balance,
    };
    let is_unchanged = granted == 0 && held == 0 && stored_stamp <= bucket.stamp;
    let record = NodeRecord { seq: ask.seq, epoch: bucket.epoch, answer };
    Asked { answer: Some(answer), write: (!is_unchanged).then_some((bucket, record)) }
}

/// Takes what the node was known to hold out of the bucket's sums; 0 if it has expired, which counts as spent.
fn taken_out(bucket: &mut LedgerBucket, record: Option<NodeRecord>) -> u64 {
    let Some(record) = record else { return 0 };
    let sum = if record.epoch == bucket.epoch {
        &mut bucket.held_new
    } else if record.epoch + 1 == bucket.epoch {
        &mut bucket.held_old
    } else {
        return 0;
    };
    let held = record.answer.held.as_micros().min(*sum);
    *sum -= held;
    held
}

/// How much the node is given, and how many microseconds until all of it is minted.
fn granted(terms: &LeaseTerms, bucket: &LedgerBucket, ask: &Ask, unspent: u64) -> (u64, u64) {
    let burst = terms.ledger().burst();
    let want = ask.want.as_micros().min(burst);
    if want == 0 {
        return (0, 0);
    }
    if bucket.balance >= want.cast_signed() {
        return (want, 0);
    }
    let missing = (want.cast_signed() - bucket.balance).cast_unsigned();
    // Ahead of time, if it is minted soon and if the bucket has room to mint it.
    if missing <= terms.ahead_max() && want.cast_signed() <= room(terms, bucket, unspent) {
        return (want, terms.ledger().time_to_mint(bucket.stamp, missing));
    }
    if bucket.balance >= least(terms, ask).cast_signed() {
        return (bucket.balance.cast_unsigned(), 0);
    }
    (0, 0)
}

/// What is left of the burst beside all that is held; negative where the burst was lowered.
fn room(terms: &LeaseTerms, bucket: &LedgerBucket, unspent: u64) -> i64 {
    terms.ledger().burst().cast_signed() - (bucket.held_new + bucket.held_old + unspent).cast_signed()
}

/// What helps the node: at least something, at most what it wants.
fn least(terms: &LeaseTerms, ask: &Ask) -> u64 {
    let want = ask.want.as_micros().min(terms.ledger().burst());
    ask.least.as_micros().max(1).min(want)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Limit, Rate};

    const NOW: u64 = 1_760_000_000_000_000;
    const LIFE: u64 = 400_000;

    /// 1,000 per second, burst 1,000, four nodes: a slice may be given 100 tokens ahead.
    fn terms() -> LeaseTerms {
        let limit = Limit::new(Rate::per_second(1_000), Burst::tokens(1_000)).unwrap();
        LeaseTerms::new(&limit, 4, Span::from_micros(LIFE)).unwrap()
    }

    fn tokens(tokens: u64) -> Tokens {
        Tokens::from_micros(tokens * 1_000_000)
    }

    fn ask(seq: u64, unspent: u64, back: u64, want: u64) -> Ask {
        Ask { seq, unspent: tokens(unspent), back: tokens(back), want: tokens(want), least: tokens(1) }
    }

    /// One node and its bucket.
    #[derive(Clone, Copy, Default)]
    struct Stored(Option<LedgerBucket>, Option<NodeRecord>);

    impl Stored {
        fn ask(&mut self, ask: &Ask, now: u64) -> Option<Answer> {
            let asked = ask_ledger(&terms(), self.0, self.1, ask, now);
            if let Some((bucket, record)) = asked.write {
                *self = Stored(Some(bucket), Some(record));
            }
            asked.answer
        }

        fn of(&self) -> (i64, u64, u64) {
            self.0.map_or((0, 0, 0), |bucket| (bucket.balance, bucket.held_new, bucket.held_old))
        }
    }

    #[test]
    fn what_is_granted_counts_against_the_burst_until_it_is_spent() {
        let mut node = Stored::default();
        let answer = node.ask(&ask(1, 0, 0, 300), NOW).unwrap();
        assert_eq!((answer.granted, answer.wait, answer.held), (tokens(300), Span::ZERO, tokens(300)));
        assert_eq!(node.of(), (700_000_000, 300_000_000, 0));
        // 100 spent, 50 given back: 150 are held still. Half a second has filled the bucket up to the rest.
        let answer = node.ask(&ask(2, 150, 50, 0), NOW + 500_000).unwrap();
        assert_eq!((answer.granted, answer.held), (Tokens::ZERO, tokens(150)));
        assert_eq!(node.of(), (750_000_000, 150_000_000, 0));
    }

    #[test]
    fn an_ask_that_arrives_again_gets_the_same_answer_and_changes_nothing() {
        let mut node = Stored::default();
        let first = node.ask(&ask(1, 0, 0, 300), NOW);
        let stored = (node.0, node.1);
        assert_eq!(node.ask(&ask(1, 0, 0, 300), NOW + 9_000), first);
        assert_eq!((node.0, node.1), stored);
        node.ask(&ask(3, 300, 0, 10), NOW + 10_000);
        assert_eq!(node.ask(&ask(2, 0, 300, 10), NOW + 11_000), None, "overtaken by a later one");
    }

    #[test]
    fn a_node_gives_back_no_more_than_it_was_given() {
        let mut node = Stored::default();
        node.ask(&ask(1, 0, 0, 300), NOW);
        node.ask(&ask(2, 200, 900, 0), NOW);
        assert_eq!(node.of(), (800_000_000, 200_000_000, 0));
        node.ask(&ask(3, 900, 0, 0), NOW);
        assert_eq!(node.of(), (800_000_000, 200_000_000, 0), "and reports no more");
    }

    #[test]
    fn what_is_given_back_after_the_burst_was_lowered_is_no_gift_though_it_was_raised_again() {
        let mut node = Stored::default();
        node.ask(&ask(1, 0, 0, 300), NOW);
        let low = Limit::new(Rate::per_second(1_000), Burst::tokens(10)).unwrap();
        let raised = terms().changed(&low, NOW + 1).unwrap().changed(terms().limit(), NOW + 2).unwrap();
        let (bucket, _) = ask_ledger(&raised, node.0, node.1, &ask(2, 0, 300, 0), NOW + 2).write.unwrap();
        assert_eq!((bucket.balance, bucket.held_new), (10_000_000, 0), "what any bucket holds by then");
    }

    #[test]
    fn a_slice_that_is_not_renewed_counts_as_spent_between_one_and_two_lives_later() {
        let mut node = Stored::default();
        node.ask(&ask(1, 0, 0, 1_000), NOW + 1);
        let held_at = |now| {
            let bucket = node.0.unwrap().at(&terms(), now);
            bucket.held_new + bucket.held_old
        };
        assert_eq!(held_at(NOW + 1 + LIFE), 1_000_000_000);
        assert_eq!(held_at(NOW + 1 + 2 * LIFE), 0);
        let answer = node.ask(&ask(2, 1_000, 0, 0), NOW + 1 + 2 * LIFE).unwrap();
        assert_eq!(answer.held, Tokens::ZERO, "nothing is left to renew");
    }

    #[test]
    fn what_is_minted_soon_is_given_ahead_of_time() {
        let mut node = Stored::default();
        node.ask(&ask(1, 0, 0, 990), NOW);
        let answer = node.ask(&ask(2, 0, 0, 100), NOW).unwrap();
        assert_eq!((answer.granted, answer.wait), (tokens(100), Span::from_millis(90)));
        assert_eq!(node.of(), (-90_000_000, 100_000_000, 0));
        // Beyond a quarter of a life: denied, until what helps at least is there.
        let answer = node.ask(&ask(3, 0, 0, 100), NOW).unwrap();
        assert_eq!((answer.granted, answer.wait), (Tokens::ZERO, Span::from_millis(91)));
    }

    #[test]
    fn what_is_left_is_given_where_more_would_take_too_long() {
        let mut node = Stored::default();
        node.ask(&ask(1, 0, 0, 990), NOW);
        let answer = node.ask(&ask(2, 0, 0, 500), NOW).unwrap();
        assert_eq!((answer.granted, answer.wait), (tokens(10), Span::ZERO));
    }

    #[test]
    fn a_denial_of_a_node_that_holds_nothing_writes_nothing() {
        let mut other = Stored::default();
        other.ask(&ask(1, 0, 0, 1_000), NOW);
        let asked = ask_ledger(&terms(), other.0, None, &ask(1, 0, 0, 200), NOW);
        assert_eq!((asked.answer.unwrap().granted, asked.write), (Tokens::ZERO, None));
    }

    #[test]
    fn records_of_an_earlier_life_of_the_bucket_mean_nothing() {
        let mut node = Stored::default();
        node.ask(&ask(1, 0, 0, 300), NOW);
        node.0 = None; // the store was emptied, or the bucket was reset
        node.ask(&ask(2, 300, 0, 0), NOW + 5);
        assert_eq!(node.of(), (0, 0, 0), "nothing to write: the bucket is full, and no slice is out");
        node.ask(&ask(3, 300, 0, 10), NOW + 5);
        assert_eq!(node.of(), (990_000_000, 10_000_000, 0));
    }
}
