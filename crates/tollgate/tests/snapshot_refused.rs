//! Files that are no snapshot, or not this limiter's: each is refused in words that say what to do.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "snapshot/scratch.rs"]
mod scratch;

use scratch::{Scratch, saved_at, with_checksum};
use std::fs;

use tollgate::{BuildError, Burst, Clock, Cost, Limit, Limiter, LimiterBuilder, Moment, Rate};

const KEYS: usize = 1_000;

fn limit() -> Limit {
    Limit::new(Rate::per_day(1), Burst::tokens(50)).unwrap()
}

fn settings() -> LimiterBuilder {
    Limiter::builder()
        .keys_max(KEYS)
        .explicit_keys_max(KEYS)
        .clock(Clock::manual(Moment::from_nanos(5_000_000_000)))
}

/// The bytes of a snapshot with two rules, a tier and three clients, and two whose limits come with the call.
fn snapshot(scratch: &Scratch) -> Vec<u8> {
    let limiter = settings().build(limit()).unwrap();
    let logins = limiter.rule("logins", limit()).unwrap();
    let _ = limiter.default_rule().tier("pro", limit()).unwrap().check("alice");
    let _ = limiter.check_n("bob", Cost::tokens(50));
    let _ = logins.check("alice");
    for key in ["alice", "bob"] {
        let _ = limiter.explicit().check(key, &limit(), Cost::tokens(50));
    }
    limiter.save(scratch.file()).unwrap();
    fs::read(scratch.file()).unwrap()
}

fn refusal(scratch: &Scratch) -> String {
    match settings().restore(scratch.file()).build(limit()) {
        Err(error @ BuildError::Snapshot(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_of_something_else_is_refused() {
    let scratch = Scratch::new("something_else");
    let path = scratch.file();
    for bytes in [&b""[..], b"tollgate", b"PK\x03\x04", b"tollgate table 5 and more, of another version"] {
        scratch.write(bytes);
        assert_eq!(
            refusal(&scratch),
            format!(
                "snapshot `{}` is not a snapshot of this version; delete it to start with full buckets",
                path.display()
            )
        );
    }
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    // Holes, which take no room on the disk: whoever read it all would need more memory than there is.
    const HUGE: u64 = 1 << 36;
    let scratch = Scratch::new("huge");
    let bytes = snapshot(&scratch);
    let grow = || fs::OpenOptions::new().write(true).open(scratch.file()).unwrap().set_len(HUGE).unwrap();
    grow();
    assert_eq!(
        refusal(&scratch),
        format!(
            "snapshot `{}` has {HUGE} bytes, and one of tables with `keys_max` 1000 and `explicit_keys_max` 1000 has at most \
             {}; set those to what they were when it was written, or delete the file to start with full buckets",
            scratch.file().display(),
            2 * 1_000 * 64 + 1_000_000 * 56 + (64 << 20)
        )
    );
    scratch.write(&vec![0; bytes.len()]);
    grow();
    assert!(refusal(&scratch).contains(" is not a snapshot of this version"));
}

#[test]
fn a_file_that_is_cut_short_is_refused() {
    let scratch = Scratch::new("cut_short");
    let bytes = snapshot(&scratch);
    let expected = format!(
        "snapshot `{}` is cut short or was changed after it was written; delete it to start with full buckets",
        scratch.file().display()
    );
    for len in 16..bytes.len() {
        scratch.write(&bytes[..len]);
        assert_eq!(refusal(&scratch), expected, "cut at {len}");
    }
    scratch.write(&[&bytes[..], b"x"].concat());
    assert_eq!(refusal(&scratch), expected, "one byte more");
}

#[test]
fn a_file_with_a_flipped_bit_is_refused() {
    let scratch = Scratch::new("flipped");
    let bytes = snapshot(&scratch);
    for bit in (0..bytes.len() * 8).step_by(7) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        scratch.write(&flipped);
        let said = refusal(&scratch);
        assert!(said.contains(" is not a snapshot of") || said.contains("was changed after it"), "{said}");
    }
}

#[test]
fn a_snapshot_of_another_table_is_refused() {
    let scratch = Scratch::new("another_table");
    snapshot(&scratch);
    let error = settings().keys_max(2_000).restore(scratch.file()).build(limit()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "snapshot `{}` is of a table with `keys_max` 1000, and this one has 2000; set `keys_max` to 1000, or delete \
             the file to start with full buckets",
            scratch.file().display()
        )
    );
}

#[test]
fn a_snapshot_of_another_table_for_limits_that_come_with_the_call_is_refused() {
    let scratch = Scratch::new("another_explicit_table");
    snapshot(&scratch);
    let error = settings().explicit_keys_max(2_000).restore(scratch.file()).build(limit()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "snapshot `{}` is of a table with `explicit_keys_max` 1000, and this one has 2000; set `explicit_keys_max` to \
             1000, or delete the file to start with full buckets",
            scratch.file().display()
        )
    );
    // A table that nobody used binds nobody.
    settings().build(limit()).unwrap().save(scratch.file()).unwrap();
    assert!(settings().explicit_keys_max(2_000).restore(scratch.file()).build(limit()).is_ok());
}

/// Anyone can compute a checksum, so what it covers is not trusted either.
#[test]
fn a_forged_file_is_refused_or_works_and_never_panics() {
    let scratch = Scratch::new("forged");
    let bytes = snapshot(&scratch);
    let contradiction = format!(
        "snapshot `{}` contradicts itself; delete it to start with full buckets",
        scratch.file().display()
    );
    let mut contradictions = 0;
    for (at, change) in (16..bytes.len() - 8).zip([1, 0x80, 0xff, 2].into_iter().cycle()) {
        let mut forged = bytes.clone();
        forged[at] ^= change;
        scratch.write(&with_checksum(forged));
        match settings().restore(scratch.file()).build(limit()) {
            Ok(limiter) => {
                let admitted = (0..60).filter(|_| limiter.check("alice").is_admitted()).count();
                assert!(admitted <= 50, "{admitted} with byte {at} changed");
                let ask = |key| limiter.explicit().check(key, &limit(), Cost::ONE).is_admitted();
                for key in ["alice", "bob", "carol"] {
                    let admitted = (0..60).filter(|_| ask(key)).count();
                    assert!(admitted <= 50, "{admitted} of {key} with byte {at} changed");
                }
                if let Ok(logins) = limiter.rule("logins", limit()) {
                    let _ = logins.check("alice");
                }
            }
            Err(error) if error.to_string() == contradiction => contradictions += 1,
            Err(error) => assert!(error.to_string().contains("keys_max`"), "{error}"),
        }
    }
    assert!(contradictions > 100, "{contradictions}");
}

#[test]
fn a_forged_time_does_not_overflow() {
    let scratch = Scratch::new("forged_time");
    let bytes = snapshot(&scratch);
    for wall in [0, 1, u64::MAX] {
        scratch.write(&saved_at(&bytes, |_| wall));
        let limiter = settings().restore(scratch.file()).build(limit()).unwrap();
        let admitted = (0..60).filter(|_| limiter.check("bob").is_admitted()).count();
        assert_eq!(admitted, if wall == u64::MAX { 0 } else { 50 }, "saved at {wall}");
    }
}

#[test]
fn a_path_that_cannot_be_read_or_written_is_said() {
    let scratch = Scratch::new("paths");
    let folder = scratch.path("folder");
    fs::create_dir_all(&folder).unwrap();
    let error = settings().restore(&folder).build(limit()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "snapshot `{}`: Is a directory (os error 21); check the path and its permissions",
            folder.display()
        )
    );
    let nowhere = scratch.path("nowhere/snapshot");
    let error = settings().build(limit()).unwrap().save(&nowhere).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "snapshot `{}`: No such file or directory (os error 2); check the path and its permissions",
            nowhere.display()
        )
    );
    let limiter = settings().restore(&nowhere).build(limit()).unwrap();
    assert!(limiter.check("alice").is_admitted(), "no such file is a first start");
}

#[test]
fn a_save_that_fails_changes_nothing_and_leaves_nothing_behind() {
    let scratch = Scratch::new("failed_save");
    let in_the_way = scratch.path("snapshot/in the way");
    fs::create_dir_all(&in_the_way).unwrap();
    assert!(settings().build(limit()).unwrap().save(scratch.file()).is_err(), "a folder is no file");
    assert!(in_the_way.exists());
    assert_eq!(fs::read_dir(scratch.file().parent().unwrap()).unwrap().count(), 1);
}
