//! A batch in the words of the script: see `docs/redis-script.md`.

use crate::SCRIPT_VERSION;
use crate::item::{Due, Item, KeyRef, Wanted};

/// The arguments, and how many keys hold values: sorted sets come after them.
pub(crate) struct Words(Vec<Vec<u8>>, usize);

impl Words {
    /// The words that every call begins with.
    pub(crate) fn begin(values: usize) -> Words {
        let mut words = Words(vec![SCRIPT_VERSION.to_string().into_bytes(), b"0".to_vec()], values);
        words.number(values as u64);
        words
    }

    pub(crate) fn into_arguments(self) -> Vec<Vec<u8>> {
        self.0
    }

    pub(crate) fn text(&mut self, word: &[u8]) {
        self.0.push(word.to_vec());
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.push(number.to_string().into_bytes());
    }

    fn key(&mut self, key: KeyRef) {
        self.number(self.number_of(key) as u64);
    }

    fn bucket(&mut self, key: KeyRef, limit: usize) {
        self.key(key);
        self.number(limit as u64 + 1);
    }

    /// Checks that are alike but for their keys: see [`crate::run::Run`].
    pub(crate) fn many<'w>(&mut self, alike: &[Wanted], checks: impl Iterator<Item = &'w [Wanted]>) {
        self.text(b"m");
        self.number(alike.len() as u64);
        for Wanted { limit, cost, keep, .. } in alike {
            for number in [*limit as u64 + 1, *cost, *keep] {
                self.number(number);
            }
        }
        let keys = checks.flatten().flat_map(|wanted| self.key_number(wanted.key).to_be_bytes());
        let keys = keys.collect();
        self.0.push(keys);
    }

    /// A key as `m` names it. A batch has at most [`crate::KEYS_MAX`].
    fn key_number(&self, key: KeyRef) -> u16 {
        u16::try_from(self.number_of(key)).unwrap_or(u16::MAX)
    }

    fn number_of(&self, key: KeyRef) -> usize {
        match key {
            KeyRef::Value(number) => number,
            KeyRef::SortedSet(number) => self.1 + number,
        }
    }

    fn wanted(&mut self, wanted: &[Wanted]) {
        self.number(wanted.len() as u64);
        for Wanted { key, limit, cost, keep, .. } in wanted {
            self.bucket(*key, *limit);
            self.number(*cost);
            self.number(*keep);
        }
    }

    pub(crate) fn item(&mut self, item: &Item) {
        match item {
            Item::Check { wanted } => {
                self.text(b"c");
                self.wanted(wanted);
            }
            Item::Peek { wanted } => {
                self.text(b"p");
                self.wanted(wanted);
            }
            Item::Once { record, lifetime_ms, wanted } => {
                self.text(b"o");
                self.key(*record);
                self.number(*lifetime_ms);
                self.wanted(wanted);
            }
            Item::Reserve { record, timeout_ms, note, wanted } => {
                self.text(b"r");
                self.key(*record);
                self.number(*timeout_ms);
                self.text(note);
                self.wanted(wanted);
            }
            Item::Settle { record, expected, due } => {
                self.text(b"s");
                self.key(*record);
                self.text(expected);
                self.number(due.len() as u64);
                for Due { key, limit, estimate, actual, debt_max } in due {
                    self.bucket(*key, *limit);
                    for amount in [*estimate, *actual, *debt_max] {
                        self.number(amount);
                    }
                }
            }
            Item::Give { key, limit, amount } => {
                self.text(b"g");
                self.bucket(*key, *limit);
                self.number(*amount);
            }
            Item::Take { key, limit, amount, debt_max } => {
                self.text(b"t");
                self.bucket(*key, *limit);
                self.number(*amount);
                self.number(*debt_max);
            }
            Item::LetGo { key, limit, cost, receipt } => {
                self.text(b"l");
                self.bucket(*key, *limit);
                self.number(*cost);
                self.text(receipt.paid.to_string().as_bytes());
                self.number(receipt.made_micros);
            }
            Item::Reset { key, limit } => {
                self.text(b"x");
                self.bucket(*key, *limit);
            }
            Item::Ask { key, limit, record, numbers } => {
                self.text(b"a");
                self.bucket(*key, *limit);
                self.key(*record);
                for number in numbers {
                    self.number(*number);
                }
            }
        }
    }
}
