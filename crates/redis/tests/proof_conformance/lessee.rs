//! A node that takes a slice of a bucket and gives it back at once, before anything else is done to it: as if nothing had been.
//!
//! It takes nothing ahead of time, since that is what the bucket has not. Its subject keeps it from buckets of rules with several tiers: an ask moves a
//! bucket to the tier that it names, as a check does, but a look, a gift or a reset does not.

use std::cell::Cell;
use std::collections::BTreeMap;

use tollgate_core::{Ask, Burst, LEASE_LIFE, LeaseTerms, Limit, Rate, Tokens};
use tollgate_redis::{Batch, KeyName, SharedLimit, Told};

use crate::place::Place;

/// The node.
pub(crate) struct Lessee<'g> {
    terms: LeaseTerms,
    /// How often it has asked for each bucket.
    asked: BTreeMap<Vec<u8>, u64>,
    /// How often it and others of its kind were given something.
    granted: &'g Cell<u64>,
}

impl Lessee<'_> {
    pub(crate) fn new(granted: &Cell<u64>) -> Lessee<'_> {
        // So slow that a quarter of a life mints nothing.
        let limit = Limit::new(Rate::per_year(1), Burst::tokens(1)).unwrap();
        let terms = LeaseTerms::new(&limit, 1, LEASE_LIFE).unwrap();
        assert_eq!(terms.ahead_max(), 0);
        Lessee { terms, asked: BTreeMap::new(), granted }
    }

    /// Takes what there is of up to a token, and gives it back.
    pub(crate) fn take_and_give_back(
        &mut self,
        place: &Place<'_>,
        key: &KeyName,
        limit: &SharedLimit,
        now: u64,
    ) {
        // A name that cannot be leased stays exact.
        let Some(record) = key.lease_record("n1") else { return };
        let mut ask = |want: Tokens, back: Tokens| {
            let seq = self.asked.entry(key.as_bytes().to_vec()).or_default();
            *seq += 1;
            let ask = Ask { seq: *seq, unspent: Tokens::ZERO, back, want, least: Tokens::from_micros(1) };
            let mut batch = Batch::new();
            batch.ask(key.clone(), limit, record.clone(), &ask, &self.terms).unwrap();
            let told = batch.read(&place.call(batch.call(), now)).unwrap_or_else(|error| panic!("{error}"));
            match told[0] {
                Told::Leased { answer: Some(answer), .. } => answer.granted,
                ref other => panic!("{other:?}"),
            }
        };
        let granted = ask(Tokens::from_micros(1_000_000), Tokens::ZERO);
        ask(Tokens::ZERO, granted);
        self.granted.set(self.granted.get() + u64::from(granted > Tokens::ZERO));
    }
}
