//! What the store keeps of a reservation, or of a check that is charged once, whose buckets are in other slots than the record.
//!
//! ```text
//! x 1790000000000000                      by its first letter it is known; the server's time
//! 1 700000000 700000000 0 0 7000 1790…    of each bucket: which charges (a bit for each), balance, remaining, delay and time to
//!                                         full in nanoseconds, and its receipt
//! …                                       the note of a reservation, as everywhere
//! ```
//! It is written when every bucket was charged, if there was none, and so decides which of several retries has been charged. The script that
//! keeps the records of limits reads and writes it: to the store it is text.

use std::fmt::Write;

use tollgate_core::{BucketSet, Span, Tokens};

use super::super::Inner;
use crate::{
    BucketTold, Call, Checked, KeyName, LinkError, Outcome, Receipt, Reply, SCRIPT_VERSION, Script,
    ServerError,
};

/// Numbers of one bucket.
const NUMBERS: usize = 7;
/// A record that is gone is empty for a millisecond before.
const GONE_MS: u64 = 1;
/// A time that no server has reached: a record is not made for a certain time.
const ANY_TIME: &str = "9007199254740991";

/// Whether it is such a record.
pub(in super::super) fn is_across(record: &[u8]) -> bool {
    record.starts_with(b"x ")
}

/// The record of an admission.
pub(super) fn text(checked: &Checked, note: &[u8]) -> Vec<u8> {
    let mut text = format!("x {}\n", checked.now_micros);
    for (at, bucket) in checked.buckets.iter().enumerate() {
        let members = bucket.members.iter().fold(0_u32, |bits, at| bits | 1 << at);
        let Receipt { paid, made_micros } = bucket.receipt;
        let (remaining, delay) = (bucket.remaining.as_micros(), bucket.delay.as_nanos());
        let (gap, full) = (if at == 0 { "" } else { " " }, bucket.time_to_full.as_nanos());
        let _ =
            write!(text, "{gap}{members} {} {remaining} {delay} {full} {paid} {made_micros}", bucket.balance);
    }
    text.push('\n');
    [text.into_bytes(), note.to_vec()].concat()
}

/// The admission that a record tells of; `None` if it was not written by this version.
pub(super) fn read(record: &[u8]) -> Option<Checked> {
    let mut lines = record.splitn(3, |byte| *byte == b'\n').map(|line| std::str::from_utf8(line).ok());
    let now_micros = lines.next()??.strip_prefix("x ")?.parse().ok()?;
    let numbers: Vec<&str> = lines.next()??.split(' ').collect();
    let buckets = numbers.chunks(NUMBERS).map(|numbers| {
        let [members, balance, remaining, delay, full, paid, made] = numbers else { return None };
        let bits: u32 = members.parse().ok()?;
        let mut members = BucketSet::EMPTY;
        (0..16).filter(|at| bits >> at & 1 == 1).for_each(|at| members.insert(at));
        Some(BucketTold {
            members,
            balance: balance.parse().ok()?,
            remaining: Tokens::from_micros(remaining.parse().ok()?),
            wait: Some(Span::ZERO),
            delay: Span::from_nanos(delay.parse().ok()?),
            receipt: Receipt { paid: paid.parse().ok()?, made_micros: made.parse().ok()? },
            time_to_full: Span::from_nanos(full.parse().ok()?),
        })
    });
    let buckets = buckets.collect::<Option<_>>()?;
    Some(Checked { outcome: Outcome::Admitted, is_retold: true, now_micros, buckets })
}

impl Inner {
    /// Takes a record away; whether it was this call that did.
    pub(super) async fn take_record(&self, key: &KeyName, record: &[u8]) -> Result<bool, LinkError> {
        self.put_record(key, record, b"", GONE_MS).await.map(|(_, is_mine)| is_mine)
    }

    /// Writes a record where `old` is, for so many milliseconds; what is there now, and whether this call has written it.
    pub(super) async fn put_record(
        &self,
        key: &KeyName,
        old: &[u8],
        new: &[u8],
        milliseconds: u64,
    ) -> Result<(Vec<u8>, bool), LinkError> {
        let words =
            [SCRIPT_VERSION.to_string(), "0".to_owned(), milliseconds.to_string(), ANY_TIME.to_owned()];
        let mut arguments: Vec<Vec<u8>> = words.into_iter().map(String::into_bytes).collect();
        arguments.extend([old.to_vec(), new.to_vec()]);
        let call = Call { script: Script::declare(), keys: vec![key.as_bytes().to_vec()], arguments };
        match self.coalescer.link().call(call, super::PATIENCE).await? {
            Reply::List(list) => match &list[..] {
                [_, Reply::Bytes(record), Reply::Integer(written)] => Ok((record.clone(), *written == 1)),
                _ => Err(LinkError::Lost),
            },
            Reply::Error(error) => Err(LinkError::Server(ServerError::of_message(&error))),
            _ => Err(LinkError::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admission_is_read_back_as_it_was() {
        let bucket = |at: usize, balance: i64| BucketTold {
            members: BucketSet::of(at).union(BucketSet::of(15)),
            balance,
            remaining: Tokens::from_micros(7),
            wait: Some(Span::ZERO),
            delay: Span::from_micros(3),
            receipt: Receipt { paid: -balance, made_micros: 1_790_000_000_000_000 },
            time_to_full: Span::from_secs(4),
        };
        let buckets = vec![bucket(0, 5), bucket(3, -9)];
        let checked = Checked { outcome: Outcome::Admitted, is_retold: true, now_micros: 17, buckets };
        let record = text(&checked, b"1 note\nof two lines");
        assert!(is_across(&record));
        assert_eq!(read(&record), Some(checked));
        assert!(record.ends_with(b"\n1 note\nof two lines"));
    }

    #[test]
    fn what_others_wrote_is_refused_and_never_panics() {
        for bad in ["", "x", "x 1", "x 1\n", "x 1\n1 2 3\n", "x 1\n1 2 3 4 5 6 b\n", "1 5\n1 2\n", "x b\n\n"]
        {
            assert_eq!(read(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
