//! The queue beside a naive one, which recomputes everything for everybody at every step.

use tollgate_core::{Cost, Demand, Mark};
use tollgate_sim::seeds;

use super::{Queue, Ticket};

/// What the queue must be like: everybody's mark, kept up to date one by one.
#[derive(Default)]
struct Naive {
    waiting: Vec<(Ticket, u64, u64)>,
    /// The bucket: where the next booking starts.
    mark: u64,
    next: Ticket,
}

impl Naive {
    fn push(&mut self, cost: u64) -> (Ticket, Mark) {
        self.mark = self.mark.wrapping_add(cost);
        self.next += 1;
        self.waiting.push((self.next, self.mark, cost));
        (self.next, Mark::from_word(self.mark))
    }

    fn cancel(&mut self, at: usize) -> Ticket {
        let (ticket, _, cost) = self.waiting.remove(at);
        self.waiting[at..].iter_mut().for_each(|(_, mark, _)| *mark = mark.wrapping_sub(cost));
        self.mark = self.mark.wrapping_sub(cost);
        ticket
    }

    fn shift(&mut self, by: u64) {
        self.waiting.iter_mut().for_each(|(_, mark, _)| *mark = mark.wrapping_sub(by));
        self.mark = self.mark.wrapping_sub(by);
    }
}

/// A queue and the naive one, kept in step.
#[derive(Default)]
struct Both {
    queue: Queue<Ticket>,
    naive: Naive,
}

impl Both {
    fn push(&mut self, cost: u64) {
        let (ticket, mark) = self.naive.push(cost);
        self.queue.push(ticket, mark, Demand::of(Cost::micros(cost)), true, ticket);
    }

    fn cancel(&mut self, at: usize) {
        let ticket = self.naive.cancel(at);
        assert_eq!(self.queue.cancel(ticket, true), Some(ticket));
        assert_eq!(self.queue.cancel(ticket, true), None, "nobody gives up twice");
    }

    fn pop(&mut self) {
        let first = self.naive.waiting.remove(0).0;
        assert_eq!(self.queue.pop(), Some(first));
        assert!(self.queue.find(first).is_none());
    }

    fn agree(&mut self) {
        let Both { queue, naive } = self;
        assert_eq!(queue.len(), naive.waiting.len());
        assert_eq!(queue.is_empty(), naive.waiting.is_empty());
        let tickets: Vec<_> = naive.waiting.iter().map(|(ticket, ..)| *ticket).collect();
        assert_eq!(queue.iter().copied().collect::<Vec<_>>(), tickets, "in order, and nobody lost");
        let word = |mark: Mark| mark.word();
        let head = queue.head().map(|head| (head.ticket, word(head.departure), head.demand.cost.as_micros()));
        assert_eq!(head, naive.waiting.first().copied(), "the head's departure is exact");
        let last = naive.waiting.last().map(|(_, mark, _)| *mark);
        assert_eq!(queue.last().map(|(.., departure)| word(departure)), last, "and so is the tail's");
        for (at, (ticket, mark, _)) in naive.waiting.iter().enumerate() {
            let found = queue.find(*ticket).unwrap();
            assert_eq!(found.is_head, at == 0);
            let later = found.departure.word().wrapping_sub(*mark).cast_signed();
            assert!(later >= 0, "an estimate is never too early");
        }
        let booked: u64 = naive.waiting.iter().map(|(.., cost)| cost).sum();
        assert_eq!(queue.booked(), booked);
        assert!(queue.entries.len() <= 2 * queue.len(), "the cancelled are never more than the others");
    }
}

#[test]
fn any_mix_of_joining_leaving_and_giving_up_is_as_in_the_naive_queue() {
    seeds::for_each_seed(0..300, |random| {
        let mut both = Both::default();
        // Near the wrap, but off the one word that is no mark.
        both.naive.mark = u64::MAX - 5_000_001;
        for _ in 0..200 {
            let waiting = both.naive.waiting.len();
            match random.u32(0..10) {
                0..4 => both.push(random.u64(1..1_000) * 2),
                4..6 if waiting > 0 => both.pop(),
                6..9 if waiting > 0 => both.cancel(random.usize(0..waiting)),
                9 => {
                    let by = random.u64(0..100) * 2;
                    let back = random.bool();
                    both.naive.shift(if back { by.wrapping_neg() } else { by });
                    if back { both.queue.delay(by) } else { both.queue.forward(by) }
                }
                _ => {}
            }
            both.agree();
        }
    });
}

#[test]
fn a_storm_of_cancellations_leaves_the_others_in_order() {
    let mut both = Both::default();
    (0..1_000).for_each(|cost| both.push(cost + 1));
    // From the middle outwards, so that neither end can help.
    for _ in 0..998 {
        both.cancel(both.naive.waiting.len() / 2);
    }
    both.agree();
    both.pop();
    both.pop();
    both.agree();
}

#[test]
fn those_behind_a_cancelled_one_leave_earlier_and_those_before_it_do_not() {
    let mut both = Both::default();
    for cost in [10, 3, 4, 3] {
        both.push(cost);
    }
    both.cancel(1);
    assert_eq!(both.queue.head().unwrap().departure.word(), 10);
    both.pop();
    assert_eq!(both.queue.head().unwrap().departure.word(), 14);
    both.pop();
    assert_eq!(both.queue.head().unwrap().departure.word(), 17);
}
