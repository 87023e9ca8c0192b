//! Keys expire by the time of the suite: what the server does with its own clock, which no test can set.
//!
//! After every call the time to live of each key is read and taken away; once so much of the suite's time is over, the key is deleted.
//! So a bucket that is kept for too short a time is noticed, whatever time it is.

use std::collections::BTreeMap;

use tollgate_redis::KeyName;

use crate::place::Place;

/// Reads how long each key is to live, in milliseconds, and lets it live on.
const TAKE_TTL: &str = "local told = {}
for i, key in ipairs(KEYS) do
  told[i] = redis.call('PTTL', key)
  if told[i] >= 0 then redis.call('PERSIST', key) end
end
return told";

/// When keys are to go, in microseconds of the suite's time.
#[derive(Default)]
pub(crate) struct Expiry {
    at: BTreeMap<Vec<u8>, u64>,
}

impl Expiry {
    /// Deletes what is over.
    pub(crate) fn expire(&mut self, place: &Place<'_>, now: u64) {
        let over: Vec<Vec<u8>> =
            self.at.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in over {
            self.at.remove(&key);
            place.ask::<u64>(&key, &[b"DEL", &key]);
        }
    }

    /// Notes how long the server would keep keys that were written at `now`.
    pub(crate) fn note(&mut self, place: &Place<'_>, keys: &[KeyName], now: u64) {
        let Some(first) = keys.first() else { return };
        let count = keys.len().to_string();
        let mut words: Vec<&[u8]> = vec![b"EVAL", TAKE_TTL.as_bytes(), count.as_bytes()];
        words.extend(keys.iter().map(KeyName::as_bytes));
        let told: Vec<i64> = place.ask(first.as_bytes(), &words);
        for (key, milliseconds) in keys.iter().zip(told) {
            match milliseconds {
                // There is no such key.
                -2 => _ = self.at.remove(key.as_bytes()),
                // It was not written since it was last looked at.
                -1 => {}
                milliseconds => {
                    self.keep(key, now + milliseconds.unsigned_abs() * 1_000);
                }
            }
        }
    }

    /// Keeps a key until a moment.
    pub(crate) fn keep(&mut self, key: &KeyName, until: u64) {
        self.at.insert(key.as_bytes().to_vec(), until);
    }

    pub(crate) fn forget(&mut self, key: &KeyName) {
        self.at.remove(key.as_bytes());
    }
}
