//! Buckets in a map, on a clock that the test sets.

use std::collections::HashMap;

use tollgate_core::{Cost, Moment, Stamped, StampedDecision, decide_stamped};
use tollgate_server::resp::{Answer, Ask, Throttle};

/// An engine, and how it was called.
pub(crate) struct Table {
    buckets: HashMap<Vec<u8>, Stamped>,
    pub(crate) now: Moment,
    /// How many asks came with each call.
    pub(crate) calls: Vec<usize>,
}

impl Table {
    pub(crate) fn new() -> Self {
        // Some odd moment: nothing may depend on the clock's origin.
        let now = Moment::from_nanos(1_234_567_000_000_000);
        Table { buckets: HashMap::new(), now, calls: Vec::new() }
    }

    fn decide(&mut self, ask: &Ask<'_>) -> Answer {
        let bucket = self.buckets.get(ask.key).copied();
        let cost = if ask.is_peek { Cost::micros(0) } else { ask.cost };
        match decide_stamped(&ask.limit, bucket, cost, self.now) {
            StampedDecision::Admit { bucket } => {
                if !ask.is_peek {
                    self.buckets.insert(ask.key.to_vec(), bucket);
                }
                Answer { is_admitted: true, remaining: bucket.balance }
            }
            StampedDecision::Deny { remaining, .. } => Answer { is_admitted: false, remaining },
            StampedDecision::Never => panic!("the door asks for no more than a bucket holds: {ask:?}"),
        }
    }
}

impl Throttle for Table {
    fn throttle(&mut self, asks: &[Ask<'_>], answers: &mut Vec<Answer>) {
        self.calls.push(asks.len());
        assert!(answers.is_empty());
        for ask in asks {
            assert!(!ask.key.is_empty() && ask.key.len() <= 512);
            assert_eq!(ask.is_peek, ask.cost == Cost::micros(0));
            let answer = self.decide(ask);
            answers.push(answer);
        }
    }
}
