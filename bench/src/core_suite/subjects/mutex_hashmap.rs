//! What one writes in an afternoon: `Mutex<HashMap<String, …>>`, std's hasher, `Instant::now`, whole micro-tokens.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::core_suite::quota::Quota;
use crate::core_suite::subject::{Subject, count_admitted};
use crate::stopwatch;

const MICROS_PER_TOKEN: u64 = 1_000_000;

/// One map, one lock.
pub(crate) struct MutexHashMap {
    buckets: Mutex<HashMap<String, Bucket>>,
    refill: Refill,
}

struct Bucket {
    balance_micros: u64,
    refilled_at: Instant,
}

#[derive(Clone, Copy)]
struct Refill {
    burst_micros: u64,
    /// A token takes this long, so a micro-token a millionth of it.
    nanos_per_token: u64,
}

/// What the caller learns.
struct Answer {
    admitted: bool,
    remaining_micros: u64,
}

impl MutexHashMap {
    /// An empty map with room for `keys`.
    pub(crate) fn new(quota: Quota, keys: u32) -> Self {
        let refill = Refill {
            burst_micros: u64::from(quota.burst) * MICROS_PER_TOKEN,
            nanos_per_token: u64::from(quota.period_s) * 1_000_000_000 / u64::from(quota.tokens),
        };
        Self { buckets: Mutex::new(HashMap::with_capacity(keys as usize)), refill }
    }

    #[inline]
    fn check(&self, key: &str) -> Answer {
        let now = stopwatch::instant();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(key) {
            return bucket.check(self.refill, now);
        }
        let mut bucket = Bucket { balance_micros: self.refill.burst_micros, refilled_at: now };
        let answer = bucket.check(self.refill, now);
        buckets.insert(key.to_owned(), bucket);
        answer
    }
}

impl Bucket {
    #[inline]
    fn check(&mut self, refill: Refill, now: Instant) -> Answer {
        let elapsed = now.saturating_duration_since(self.refilled_at);
        let minted = refill.minted(elapsed);
        // Rounded down; checks too close for a whole micro-token leave the time as it was, else nothing would ever refill.
        if minted > 0 {
            self.balance_micros = self.balance_micros.saturating_add(minted).min(refill.burst_micros);
            self.refilled_at = now;
        }
        let admitted = self.balance_micros >= MICROS_PER_TOKEN;
        if admitted {
            self.balance_micros -= MICROS_PER_TOKEN;
        }
        Answer { admitted, remaining_micros: self.balance_micros }
    }
}

impl Refill {
    fn minted(self, elapsed: Duration) -> u64 {
        let micros = elapsed.as_nanos() * u128::from(MICROS_PER_TOKEN) / u128::from(self.nanos_per_token);
        u64::try_from(micros).unwrap_or(u64::MAX)
    }
}

impl Subject for MutexHashMap {
    fn check_stream(&self, keys: &[String]) -> u64 {
        count_admitted(keys, |key| {
            let answer = self.check(key);
            black_box(answer.remaining_micros);
            black_box(answer.admitted)
        })
    }
}
