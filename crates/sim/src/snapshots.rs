//! Any bytes, read as a snapshot: refused with words, or the start of a limiter that limits.
//!
//! The bytes are put behind the header that a snapshot has and get a checksum that fits, or hardly any would be looked
//! into. The body of the fuzz target `snapshot` and of the replay of its corpus.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

use siphasher::sip::SipHasher13;
use tollgate::{BuildError, Burst, Clock, Cost, Limit, Limiter, LimiterBuilder, Moment, Rate, TableFull};

/// The table that an input may be a snapshot of.
pub const KEYS_MAX: usize = 40;
/// The limit that is declared when an input is restored.
const BURST: u64 = 50;
const START: Moment = Moment::from_nanos(7_000_000_000);

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// It is no snapshot, and was said to be none.
    Refused,
    /// It is one, and the limiter worked.
    Works,
}

/// Restores `bytes` from a file, in a crowding rule and a version of the first byte's choosing.
///
/// # Panics
/// If that panics, or gives a limiter that does not limit; that is what it is for. Also if the temporary file cannot be
/// written.
pub fn run(bytes: &[u8]) -> Restored {
    let (choice, content) = bytes.split_first().unwrap_or((&0, &[]));
    let file = TemporaryFile::new();
    file.write(&snapshot_of(version(bytes), content));
    let settings = settings(*choice).restore(&file.0);
    let limiter = match settings.clone().build(limit()) {
        Ok(limiter) => limiter,
        Err(BuildError::Snapshot(error)) => {
            assert!(error.to_string().contains("; "), "{error}");
            return Restored::Refused;
        }
        Err(error) => unreachable!("the settings are sound: {error}"),
    };
    limits(&limiter);
    // What was restored can be saved, and that can be restored.
    if let Err(error) = limiter.save(&file.0) {
        unreachable!("the file was written before: {error}");
    }
    match settings.build(limit()) {
        Ok(again) => limits(&again),
        Err(error) => unreachable!("{error}"),
    }
    Restored::Works
}

/// The version of the format that the first byte chooses: 2, without buckets whose limits come with the call, or 3, with them.
pub fn version(bytes: &[u8]) -> u8 {
    2 + (bytes.first().unwrap_or(&0) >> 7)
}

/// A snapshot with this content: with a header and a checksum.
fn snapshot_of(version: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = [format!("tollgate table {version}").as_bytes(), content].concat();
    let sum = SipHasher13::new().hash(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

fn settings(choice: u8) -> LimiterBuilder {
    let table_full =
        [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow][usize::from(choice % 3)];
    let settings = Limiter::builder().keys_max(KEYS_MAX).explicit_keys_max(KEYS_MAX);
    settings.table_full(table_full).clock(Clock::manual(START))
}

fn limit() -> Limit {
    match Limit::new(Rate::per_second(10), Burst::tokens(BURST)) {
        Ok(limit) => limit,
        Err(error) => unreachable!("{error}"),
    }
}

/// No client gets more than the burst, whatever the file said of it; and no way of asking panics.
fn limits(limiter: &Limiter) {
    for client in 0..2 * KEYS_MAX as u64 {
        let admitted = (0..=BURST).filter(|_| limiter.check_n(client, Cost::ONE).is_admitted()).count();
        assert!(admitted as u64 <= BURST, "client {client} was admitted {admitted}");
    }
    let explicit = limiter.explicit();
    for client in 0..2 * KEYS_MAX as u64 {
        let ask = || explicit.check(client, &limit(), Cost::ONE).is_admitted();
        let admitted = (0..=BURST).filter(|_| ask()).count();
        assert!(admitted as u64 <= BURST, "client {client} with a limit of its own was admitted {admitted}");
    }
    let _ = explicit.check_all(&[1, 2].map(|client| explicit.charge(client, &limit(), Cost::ONE)));
    let rule = limiter.default_rule();
    let others = ["", "a", "logins"].map(|name| limiter.rule(name, limit()));
    for rule in others.iter().flatten().chain(rule.tier("pro", limit()).iter()) {
        let _ = limiter.check_all(&[rule.charge(1), limiter.default_rule().charge(2)]);
        let _ = rule.peek(3);
    }
    assert!(limiter.stats().keys_max == KEYS_MAX);
}

/// A file of this process alone; gone when it is dropped.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new() -> TemporaryFile {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        TemporaryFile(env::temp_dir().join(format!("tollgate-snapshot-{}-{number}", process::id())))
    }

    fn write(&self, bytes: &[u8]) {
        if let Err(error) = fs::write(&self.0, bytes) {
            unreachable!("{} cannot be written: {error}", self.0.display());
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
