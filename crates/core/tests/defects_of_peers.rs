//! Defects that were found in other limiters, and are checked to be absent here.
//!
//! Items 1 and the huge cost of 11 are tested beside `decide`; 8 is about stores.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate_core::{
    Burst, Charged, Cost, Decision, JointDecision, Limit, Mark, Meter, Moment, Rate, Span, Tokens, decide,
    decide_all,
};

const START: Moment = Moment::from_nanos(1_000_000_000_000);

/// A client and its rule.
struct Client {
    meter: Meter,
    mark: Mark,
}

impl Client {
    fn new(rate: Rate, burst: u64) -> Client {
        let meter = Meter::new(Limit::new(rate, Burst::tokens(burst)).unwrap(), START, 0);
        Client { meter, mark: meter.level(START).full_mark() }
    }

    fn admits(&mut self, cost: Cost, now: Moment) -> bool {
        match decide(&self.meter, self.mark, cost, now) {
            Decision::Admit { mark, .. } => {
                self.mark = mark;
                true
            }
            Decision::Deny { .. } | Decision::Never => false,
        }
    }

    /// How many of `requests` at `now` are admitted.
    fn admitted(&mut self, requests: u64, now: Moment) -> u64 {
        (0..requests).map(|_| u64::from(self.admits(Cost::ONE, now))).sum()
    }
}

#[test]
fn defect_2_idle_time_gives_no_credit_above_the_burst() {
    let mut client = Client::new(Rate::per_second(1), 10);
    assert_eq!(client.admitted(100, START), 10);
    assert_eq!(client.admitted(100, START + Span::from_secs(17)), 10);
    assert_eq!(client.admitted(100, START + Span::from_secs(1_000_000)), 10);
}

#[test]
fn defect_3_a_burst_of_one_limits() {
    let mut client = Client::new(Rate::per_second(1), 1);
    assert_eq!(client.admitted(5, START), 1);
    assert_eq!(client.admitted(5, START + Span::from_millis(999)), 0);
    assert_eq!(client.admitted(5, START + Span::from_secs(1)), 1);
}

#[test]
fn defect_3_a_rate_above_a_thousand_a_second_limits() {
    for per_second in [1_001, 100_000, 1_000_000_000] {
        let mut client = Client::new(Rate::per_second(per_second), 10);
        assert_eq!(client.admitted(100, START), 10, "{per_second}/s");
        assert_eq!(
            client.admitted(100, START + Span::from_nanos(1_000_000_000_u64.div_ceil(per_second))),
            1,
            "{per_second}/s"
        );
    }
}

#[test]
fn defect_4_a_slow_bucket_is_still_limited_after_a_pause() {
    let mut client = Client::new(Rate::new(3, Span::from_secs(1_000)), 5);
    assert_eq!(client.admitted(10, START), 5);
    assert_eq!(client.admitted(10, START + Span::from_secs(60)), 0);
    assert_eq!(client.admitted(10, START + Span::from_secs(1_000)), 3);
}

/// 6001 requests in a minute from two nodes against 10/s, burst 50: one node would admit 650. The one request more is
/// the first: charged by the node behind, to a bucket that the node ahead sees full again two seconds later.
#[test]
fn defect_5_two_clocks_two_seconds_apart_credit_no_interval_twice() {
    let mut client = Client::new(Rate::per_second(10), 50);
    let mut admitted = 0;
    for request in 0..=6_000 {
        let ahead = Span::from_secs(if request % 2 == 0 { 0 } else { 2 });
        admitted += u32::from(client.admits(Cost::ONE, START + Span::from_millis(10 * request) + ahead));
    }
    assert!((640..=651).contains(&admitted), "{admitted}");
}

/// Items 6 and 7.
#[test]
fn defect_6_a_rejected_user_does_not_drain_the_global_bucket() {
    let (user, everyone) = (Client::new(Rate::per_second(1), 1), Client::new(Rate::per_second(1), 100));
    let charges = |user: Mark, everyone_mark: Mark| {
        decide_all(
            &[
                Charged { meter: &everyone.meter, mark: everyone_mark, cost: Cost::ONE },
                Charged { meter: &user_meter(), mark: user, cost: Cost::ONE },
            ],
            START,
        )
    };
    let JointDecision::Admit { marks, .. } = charges(user.mark, everyone.mark) else { panic!() };
    for _ in 0..1_000 {
        let JointDecision::Deny { denied, .. } = charges(marks[1], marks[0]) else { panic!() };
        assert!(denied.iter().eq([1]));
    }
    assert_eq!(everyone.meter.level(START).balance(marks[0]), 99_000_000);
}

fn user_meter() -> Meter {
    Client::new(Rate::per_second(1), 1).meter
}

#[test]
fn defect_9_the_wait_counts_cost_and_balance_and_is_never_zero() {
    let mut client = Client::new(Rate::per_second(10), 50);
    assert!(client.admits(Cost::micros(49_500_000), START));
    let wait = |cost| match decide(&client.meter, client.mark, cost, START) {
        Decision::Deny { wait, .. } => wait,
        decision => panic!("{decision:?}"),
    };
    assert_eq!(wait(Cost::ONE), Span::from_millis(50));
    assert_eq!(wait(Cost::tokens(30)), Span::from_millis(2_950));
    assert_eq!(wait(Cost::micros(500_001)), Span::from_nanos(100));
}

#[test]
fn defect_10_what_remains_is_true_on_denials_and_never_above_the_burst() {
    let mut client = Client::new(Rate::per_second(10), 50);
    assert!(client.admits(Cost::tokens(47), START));
    let at = |now, cost| decide(&client.meter, client.mark, cost, now);
    let Decision::Deny { remaining, .. } = at(START, Cost::tokens(4)) else { panic!() };
    assert_eq!(remaining, Tokens::from_micros(3_000_000));
    let Decision::Admit { remaining, .. } = at(START + Span::from_secs(3_600), Cost::micros(1)) else {
        panic!()
    };
    assert_eq!(remaining, Tokens::from_micros(49_999_999));
}

#[test]
fn defect_11_three_hundred_million_a_second_are_not_333_million() {
    let mut client = Client::new(Rate::per_second(300_000_000), 1_000);
    let mut admitted = 0;
    for micros in 0..=1_000_000 {
        // As much as there is, every microsecond for a second.
        let now = START + Span::from_micros(micros);
        let balance = client.meter.level(now).balance(client.mark).cast_unsigned();
        assert!(balance == 0 || client.admits(Cost::micros(balance), now));
        admitted += balance;
    }
    assert_eq!(admitted, (1_000 + 300_000_000) * 1_000_000);
}
