//! Whoever comes into a slot that was somebody else's starts with all of its own, under every algorithm.

use tollgate::{
    Burst, Cause, Clock, Cost, FixedWindow, Limiter, Moment, SlidingCounter, Span, TableFull, Verdict, Window,
};

/// The mark of a quota that was spent to the last token is, a window later, that of a full bucket.
#[test]
fn a_newcomer_in_the_place_of_one_who_spent_its_quota_has_all_of_its_own() {
    let clock = Clock::manual(Moment::from_nanos(30_000_000_000));
    let window = FixedWindow::new(Burst::tokens(5), Window::MINUTE).unwrap();
    let limiter = Limiter::builder()
        .keys_max(1)
        .table_full(TableFull::DenyNew)
        .clock(clock.clone())
        .build(window)
        .unwrap();
    for round in 0..20_u64 {
        for client in 0..100 {
            // Over several buckets, which move in before they are charged.
            let charge = limiter.default_rule().charge_n(round * 1_000 + client, Cost::tokens(5));
            let verdict = limiter.check_all(&[charge]);
            assert!(
                verdict.is_admitted() || matches!(verdict, Verdict::Deny { cause: Cause::TableFull(_), .. }),
                "{verdict}"
            );
        }
        clock.advance(Span::from_secs(60));
    }
}

/// The word of a counter from which nothing was taken, in its first window, is that of a free slot.
#[test]
fn a_newcomer_in_the_first_window_of_a_counter_has_all_of_its_own() {
    let counter = SlidingCounter::new(Burst::tokens(5), Span::from_secs(60)).unwrap();
    let limiter = Limiter::builder().clock(Clock::manual(Moment::from_nanos(0))).build(counter).unwrap();
    let charge = limiter.default_rule().charge_n("ann", Cost::tokens(5));
    assert!(limiter.check_all(&[charge]).is_admitted());
}
