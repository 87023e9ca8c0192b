//! redis-cell's own way to count, written anew, beside ours over generated histories.
//!
//! It keeps one time per key, in nanoseconds, and an interval cut to the nanosecond. Where the interval is whole
//! milliseconds nothing is cut, and then all five integers must be the same.

use std::collections::HashMap;

use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use crate::wire::Conversation;

const MILLI: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLI;

/// When each key will be empty of charges, in nanoseconds.
#[derive(Default)]
struct Cell {
    empty_at: HashMap<u64, i64>,
}

struct Asked {
    key: u64,
    max_burst: i64,
    count: i64,
    period: i64,
    quantity: i64,
}

impl Cell {
    fn throttle(&mut self, asked: &Asked, now: i64) -> [i64; 5] {
        let limit = asked.max_burst + 1;
        let interval = asked.period * SECOND / asked.count;
        let (tolerance, increment) = (interval * limit, interval * asked.quantity);
        let before = self.empty_at.get(&asked.key).copied().unwrap_or(now).max(now);
        let after = before + increment;
        let over = after - tolerance - now;
        let (is_limited, retry_after, backlog) = if over > 0 {
            (1, if increment <= tolerance { seconds(over) } else { -1 }, before - now)
        } else {
            self.empty_at.insert(asked.key, after);
            (0, -1, after - now)
        };
        [is_limited, limit, (tolerance - backlog) / interval, retry_after, seconds(backlog)]
    }
}

/// Up to the next second, if there is a millisecond part.
fn seconds(nanos: i64) -> i64 {
    nanos / SECOND + i64::from(nanos % SECOND / MILLI > 0)
}

/// Numbers whose interval is whole milliseconds, from 1 ms to 400 s.
fn any_numbers(rng: &mut Rng) -> (i64, i64) {
    loop {
        let count = rng.i64(1..=1_000);
        let period = rng.i64(1..=1_000);
        if period * 1_000 % count == 0 && period <= 400 * count {
            return (count, period);
        }
    }
}

#[test]
fn all_five_integers_are_redis_cells_over_generated_histories() {
    for_each_seed(0..400, |rng| {
        let (mut cell, mut conversation, mut passed) = (Cell::default(), Conversation::new(), 0);
        let keys: Vec<_> = (0..3).map(|_| (rng.i64(0..20), any_numbers(rng))).collect();
        for _ in 0..200 {
            let key = rng.usize(0..keys.len());
            let (max_burst, (count, period)) = keys[key];
            let interval_millis = period * 1_000 / count;
            let pause = match rng.u32(0..4) {
                0 => 0,
                1 => rng.i64(0..=interval_millis),
                2 => interval_millis * rng.i64(0..=3),
                _ => rng.i64(0..=interval_millis * (max_burst + 2)),
            };
            conversation.pass_millis(pause.unsigned_abs());
            passed += pause * MILLI;
            let quantity = rng.i64(0..=max_burst + 2);
            let asked = Asked { key: key as u64, max_burst, count, period, quantity };
            let expected = cell.throttle(&asked, passed).map(|value| format!(":{value}|")).concat();
            let words = format!("CL.THROTTLE {key} {max_burst} {count} {period} {quantity}");
            assert_eq!(conversation.ask(&words), format!("*5|{expected}"), "{words} after {passed} ns");
        }
    });
}

/// The fourth or fifth integer of a reply.
fn integer_of(reply: &str, index: usize) -> u64 {
    let integers = reply.split("|:").nth(index).map(|text| text.trim_end_matches('|'));
    integers.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn waiting_as_long_as_told_and_the_millisecond_that_was_cut_is_enough() {
    for_each_seed(0..2_000, |rng| {
        let mut conversation = Conversation::new();
        let (max_burst, count) = (rng.u64(0..20), rng.u64(1..=5_000));
        let period = any_magnitude(rng, 31_536_000 * count.min(20));
        let quantity = rng.u64(1..=max_burst + 1);
        let asked = format!("CL.THROTTLE k {max_burst} {count} {period} {quantity}");
        conversation.pass_millis(rng.u64(0..1_000_000));
        let mut reply = conversation.ask(&asked);
        while reply.starts_with("*5|:0") {
            conversation.pass_millis(rng.u64(0..=period * 1_000 / count / 4));
            reply = conversation.ask(&asked);
        }
        conversation.pass_millis(integer_of(&reply, 4) * 1_000 + 1);
        assert!(conversation.ask(&asked).starts_with("*5|:0"), "{asked}: {reply}");

        let reply = conversation.ask(&format!("CL.THROTTLE k {max_burst} {count} {period} 0"));
        conversation.pass_millis(integer_of(&reply, 5) * 1_000 + 1);
        let full = max_burst + 1;
        let all = conversation.ask(&format!("CL.THROTTLE k {max_burst} {count} {period} {full}"));
        assert!(all.starts_with("*5|:0"), "{asked}: full in {reply}, then {all}");
    });
}
