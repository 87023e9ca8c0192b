//! Processes whose wall clocks differ: nothing changes, since only the server's clock counts.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exact::hammered;
use crate::fleet::is_skipped;
use crate::load::{Load, Mode, seconds};

/// Two seconds and an hour, both ways.
const SKEWS: [i64; 4] = [-2, 2, -3_600, 3_600];

/// Makes a program believe that it is so many seconds later, by the library of libfaketime. Its monotonic clock is left alone: that
/// runs on every machine, from whatever origin.
pub(crate) fn set_off(command: &mut Command, seconds: i64) {
    command.env("LD_PRELOAD", library()).env("FAKETIME", format!("{seconds:+}s"));
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
}

fn library() -> PathBuf {
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools/faketime/usr/lib");
    let found = std::fs::read_dir(&unpacked).ok().and_then(|folders| {
        let candidates =
            folders.filter_map(Result::ok).map(|entry| entry.path().join("faketime/libfaketime.so.1"));
        candidates.into_iter().find(|library| library.exists())
    });
    found.unwrap_or_else(|| {
        panic!(
            "'{}' has no libfaketime; run `cargo xtask test setup`, or leave these tests out with TOLLGATE_SKIP=faketime",
            unpacked.display()
        )
    })
}

#[test]
fn one_key_and_ten_are_kept_by_processes_whose_clocks_differ() {
    if !is_skipped("faketime") {
        let load = |keys, rate, burst| Load { mode: Mode::Exact, keys, rate, burst, seconds: seconds(5) };
        let loads = [load(1, (1_000, 1), 200), load(10, (100, 1), 50)];
        hammered("skew::one_key_and_ten_are_kept_by_processes_whose_clocks_differ", &loads, SKEWS);
    }
}

#[test]
fn one_leased_key_and_ten_are_kept_by_processes_whose_clocks_differ() {
    if !is_skipped("faketime") {
        let load = |keys, rate, burst| Load { mode: Mode::Leased, keys, rate, burst, seconds: seconds(5) };
        let loads = [load(1, (4_000, 1), 2_000), load(10, (1_500, 1), 1_000)];
        hammered("skew::one_leased_key_and_ten_are_kept_by_processes_whose_clocks_differ", &loads, SKEWS);
    }
}
