//! Buckets of which nodes hold slices: what every operation makes of them. Exactness over many histories is in `proof_exactness.rs`.

use tollgate_core::{Answer, Ask, Burst, Cost, LEASE_LIFE, LeaseTerms, Limit, Rate, Span, Tokens};
use tollgate_redis::{
    Batch, Changed, Charge, Correction, Declared, KeyFault, KeyName, KeySpace, LimitHistory, Outcome, Reply,
    RuleIdentity, SharedLimit, Told,
};

use crate::asking::{SECOND, START, check_at, done_at, integer, on_every_server};
use crate::support::Connection;

const LIFE: u64 = 400_000;

/// 1,000 per second, burst 1,000, among four nodes: a slice may be given 100 tokens ahead.
struct Shared {
    key: KeyName,
    limit: SharedLimit,
    terms: LeaseTerms,
}

impl Shared {
    fn new() -> Shared {
        let limit = Limit::new(Rate::per_second(1_000), Burst::tokens(1_000)).unwrap();
        let declared = Declared { algorithm: limit.into(), slowest: None };
        let shared = LimitHistory::new(&declared, START).unwrap().limit().unwrap();
        let key = KeySpace::default().bucket(&RuleIdentity::new("default", "all"), ()).unwrap();
        Shared { key, limit: shared, terms: LeaseTerms::new(&limit, 4, LEASE_LIFE).unwrap() }
    }

    /// What a node that reports so much, gives back so much and wants so much is answered.
    #[track_caller]
    fn ask(
        &self,
        connection: &mut Connection,
        node: &str,
        seq: u64,
        tokens: [u64; 3],
        now: u64,
    ) -> Option<Answer> {
        let [unspent, back, want] = tokens.map(|tokens| Tokens::from_micros(tokens * 1_000_000));
        let ask = Ask { seq, unspent, back, want, least: Tokens::from_micros(1_000_000) };
        let (mut batch, record) = (Batch::new(), self.key.lease_record(node).unwrap());
        batch.ask(self.key.clone(), &self.limit, record, &ask, &self.terms).unwrap();
        match done_at(connection, &batch, now).remove(0) {
            Told::Leased { answer, .. } => answer,
            other => panic!("{other:?}"),
        }
    }

    /// So many tokens without a lease: whether it was admitted, what is left in millionths, and the wait in microseconds.
    #[track_caller]
    fn check(&self, connection: &mut Connection, tokens: u64, now: u64) -> (bool, i64, u64) {
        let charge = Charge::new(self.key.clone(), &self.limit, Cost::tokens(tokens));
        let checked = check_at(connection, &[charge], now);
        let bucket = &checked.buckets[0];
        let wait = bucket.wait.map_or(0, |wait| wait.as_nanos() / 1_000);
        (checked.outcome == Outcome::Admitted, bucket.balance, wait)
    }

    #[track_caller]
    fn change(
        &self,
        connection: &mut Connection,
        add: impl FnOnce(&mut Batch, KeyName, &SharedLimit),
        now: u64,
    ) -> Changed {
        let mut batch = Batch::new();
        add(&mut batch, self.key.clone(), &self.limit);
        match done_at(connection, &batch, now).remove(0) {
            Told::Changed { changed, .. } => changed,
            other => panic!("{other:?}"),
        }
    }

    fn bytes(&self, connection: &mut Connection) -> i64 {
        integer(&connection.ask(&[b"STRLEN", self.key.as_bytes()]))
    }
}

fn granted(answer: Option<Answer>) -> u64 {
    answer.unwrap().granted.whole()
}

#[test]
fn a_bucket_that_begins_or_ends_to_be_leased_keeps_its_balance() {
    on_every_server(|_, _, connection| {
        let shared = Shared::new();
        assert_eq!(shared.check(connection, 900, START), (true, 100_000_000, 0));
        assert_eq!(shared.bytes(connection), 11, "balance and stamp");
        let answer = shared.ask(connection, "a", 1, [0, 0, 500], START).unwrap();
        assert_eq!(
            (answer.granted.whole(), answer.held.whole(), answer.balance),
            (100, 100, 0),
            "no more than there was"
        );
        assert_eq!(shared.bytes(connection), 48);
        assert_eq!(shared.check(connection, 1_000, START), (false, 0, 1_000_000));
        assert_eq!(shared.check(connection, 1, START + 390_000), (true, 389_000_000, 0));
        shared.ask(connection, "a", 2, [0, 60, 0], START + 390_000);
        assert_eq!(shared.check(connection, 1, START + 390_000), (true, 448_000_000, 0), "40 were spent");
        assert_eq!(shared.bytes(connection), 11, "nobody holds anything any more");
    });
}

/// The slice of a node that is never heard of again.
#[test]
fn a_slice_counts_against_the_burst_until_it_is_taken_back_by_the_stores_own_time() {
    on_every_server(|_, _, connection| {
        let shared = Shared::new();
        assert_eq!(granted(shared.ask(connection, "a", 1, [0, 0, 600], START)), 600);
        let held_until = START + 2 * LIFE;
        assert_eq!(shared.check(connection, 1, held_until - 1), (true, 399_000_000, 0));
        assert_eq!(shared.check(connection, 399, held_until), (true, 1_000, 0), "taken back just now");
        assert_eq!(shared.check(connection, 1_000, held_until + 2 * SECOND), (true, 0, 0));
        let late = shared.ask(connection, "a", 2, [600, 0, 0], held_until + 2 * SECOND).unwrap();
        assert_eq!(late.held, Tokens::ZERO, "nothing is left to renew");
    });
}

#[test]
fn gifts_and_resets_fill_a_bucket_only_beside_what_is_out() {
    on_every_server(|_, _, connection| {
        let shared = Shared::new();
        shared.ask(connection, "a", 1, [0, 0, 600], START);
        shared.check(connection, 400, START);
        let give =
            |batch: &mut Batch, key, limit: &SharedLimit| batch.give(key, limit, Cost::tokens(300)).unwrap();
        assert_eq!(shared.change(connection, give, START).after, 300_000_000);
        assert_eq!(shared.change(connection, give, START).after, 400_000_000);
        let take = |batch: &mut Batch, key, limit: &SharedLimit| {
            batch.take(key, limit, Cost::tokens(900), Tokens::from_micros(1_000_000_000)).unwrap();
        };
        assert_eq!(shared.change(connection, take, START).after, -500_000_000);
        let reset = |batch: &mut Batch, key, limit: &SharedLimit| batch.reset(key, limit).unwrap();
        assert_eq!(
            shared.change(connection, reset, START),
            Changed { before: -500_000_000, after: 400_000_000 }
        );
        assert_eq!(shared.bytes(connection), 48 + 7, "a reset is remembered");
        let answer = shared.ask(connection, "a", 2, [600, 0, 0], START + 1_000).unwrap();
        assert_eq!((answer.held.whole(), answer.balance), (600, 400_000_000));
        assert_eq!(shared.check(connection, 1, START + 3 * LIFE).1, 799_000_000);
        assert_eq!(shared.bytes(connection), 11 + 7);
    });
}

#[test]
fn what_a_reservation_gives_back_has_room_only_beside_what_is_out() {
    on_every_server(|_, _, connection| {
        let (shared, keys) = (Shared::new(), KeySpace::default());
        let record = keys.reservation(format!("{:032x}", 7).parse().unwrap());
        let mut batch = Batch::new();
        let charge = Charge::new(shared.key.clone(), &shared.limit, Cost::tokens(500));
        batch.reserve(record.clone(), Span::from_secs(60), b"note", &[charge]).unwrap();
        done_at(connection, &batch, START);
        shared.ask(connection, "a", 1, [0, 0, 500], START);
        // A quarter of a second has filled half of what was reserved; the slice is out still.
        let now = START + 250_000;
        let Reply::Bytes(expected) = connection.ask(&[b"GET", record.as_bytes()]) else { panic!() };
        let (key, limit) = (shared.key.clone(), shared.limit.clone());
        let (estimate, actual, debt_max) = (Cost::tokens(500), Cost::micros(0), Tokens::ZERO);
        let mut batch = Batch::new();
        batch.settle(record, &expected, &[Correction { key, limit, estimate, actual, debt_max }]).unwrap();
        let Told::Settled(settled) = done_at(connection, &batch, now).remove(0) else { panic!() };
        assert_eq!(settled, [Changed { before: 250_000_000, after: 500_000_000 }]);
    });
}

#[test]
fn an_ask_counts_once_and_a_denial_of_a_node_that_holds_nothing_writes_nothing() {
    on_every_server(|_, _, connection| {
        let shared = Shared::new();
        let first = shared.ask(connection, "a", 2, [0, 0, 990], START);
        assert_eq!(shared.ask(connection, "a", 2, [0, 0, 990], START + 9), first, "again");
        assert_eq!(shared.ask(connection, "a", 1, [0, 0, 990], START + 9), None, "overtaken");
        let before = connection.ask(&[b"GET", shared.key.as_bytes()]);
        let denied = shared.ask(connection, "b", 1, [0, 0, 900], START).unwrap();
        assert_eq!((denied.granted.whole(), denied.balance), (10, 0), "what is left");
        let denied = shared.ask(connection, "c", 1, [0, 0, 900], START).unwrap();
        assert_eq!((denied.granted, denied.wait), (Tokens::ZERO, Span::from_micros(2 * LIFE + 1_000)));
        assert_ne!(connection.ask(&[b"GET", shared.key.as_bytes()]), before, "b was given something");
        let record = |node| shared.key.lease_record(node).unwrap();
        let kept =
            |connection: &mut Connection, node| integer(&connection.ask(&[b"PTTL", record(node).as_bytes()]));
        assert!(kept(connection, "b") > 2 * 400, "as long as it may count");
        assert_eq!(kept(connection, "c"), -2);
    });
}

/// Nodes need not agree on how long a slice lives: the longest counts, so that none is taken back early.
#[test]
fn a_slice_is_counted_as_long_as_whoever_lives_longest_says() {
    on_every_server(|_, _, connection| {
        let mut shared = Shared::new();
        shared.ask(connection, "a", 1, [0, 0, 100], START);
        shared.terms = LeaseTerms::new(shared.terms.limit(), 4, Span::from_secs(4)).unwrap();
        assert_eq!(granted(shared.ask(connection, "b", 1, [0, 0, 500], START + 399_999)), 500);
        let renewed =
            |connection: &mut Connection, now| shared.ask(connection, "b", 2, [500, 0, 0], now).unwrap().held;
        let held = |connection: &mut Connection, now| {
            let peek = Charge::new(shared.key.clone(), &shared.limit, Cost::ONE);
            let mut batch = Batch::new();
            batch.peek(&[peek]).unwrap();
            match done_at(connection, &batch, now).remove(0) {
                Told::Checked(checked) => 999_000_000 - checked.buckets[0].balance,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(held(connection, START + 4_399_998), 600_000_000);
        assert_eq!(renewed(connection, START + 4_399_998).whole(), 500);
        assert_eq!(held(connection, START + 20 * SECOND), 0);
    });
}

#[test]
fn only_token_buckets_are_leased_and_a_broken_record_is_left_alone() {
    on_every_server(|_, _, connection| {
        let shared = Shared::new();
        let record = shared.key.lease_record("a").unwrap();
        let ask = Ask {
            seq: 1,
            unspent: Tokens::ZERO,
            back: Tokens::ZERO,
            want: Tokens::ZERO,
            least: Tokens::ZERO,
        };
        let told = |connection: &mut Connection, limit: &SharedLimit| {
            let mut batch = Batch::new();
            batch.ask(shared.key.clone(), limit, record.clone(), &ask, &shared.terms).unwrap();
            done_at(connection, &batch, START).remove(0)
        };
        let explicit = SharedLimit::explicit(shared.terms.limit()).unwrap();
        assert_eq!(told(connection, &explicit), Told::Fault(KeyFault::UnknownState));
        connection.ask(&[b"SET", record.as_bytes(), b"something else"]);
        assert_eq!(told(connection, &shared.limit), Told::Fault(KeyFault::UnknownState));
        connection.ask(&[b"DEL", record.as_bytes()]);
        shared.ask(connection, "a", 1, [0, 0, 100], START);
        let charge = Charge::new(shared.key.clone(), &explicit, Cost::ONE);
        let mut batch = Batch::new();
        batch.check(&[charge]).unwrap();
        assert_eq!(done_at(connection, &batch, START).remove(0), Told::Fault(KeyFault::UnknownState));
    });
}
