//! Bytes per key: the growth of resident memory in a fresh process per subject, filled with buckets none of which is full.
//!
//! Resident memory because Tollgate may map its table past Rust's allocator; a fresh process because memory that
//! another subject has given back would hide growth. What was requested of the allocator is reported beside it.

use std::process::{Command, Stdio};

use super::case::memory_case_name;
use super::fill::Filler;
use super::quota::Quota;
use super::results::{CaseResult, Comparison, Figure, Row};
use super::subject::SubjectKind;
use crate::problem::Problem;
use crate::{counting_allocator, resident};

/// The hidden word under which the bench starts itself: `measure-memory SUBJECT KEYS`.
pub(crate) const MEMORY_CHILD: &str = "measure-memory";

/// Of a million keys at most a hundred may go without a bucket of their own.
const KEYS_PER_LOST_KEY_MIN: u32 = 10_000;

/// Starts a child per subject and reads its two figures.
pub(crate) fn measure(keys: u32) -> Result<CaseResult, Problem> {
    let row = |kind: SubjectKind| {
        eprintln!("core: {} ({} alone)", memory_case_name(), kind.name());
        let printed = run_child(kind, keys)?;
        let (resident, requested) = parse(&printed).ok_or_else(|| {
            Problem::failed(format!("the memory child of {} printed `{printed}`", kind.name()))
        })?;
        let per_key = |bytes: u32| f64::from(bytes) / f64::from(keys);
        let (bytes_per_key, requested_bytes_per_key) = (per_key(resident), per_key(requested));
        Ok(Row { subject: kind.name(), figure: Figure::Memory { bytes_per_key, requested_bytes_per_key } })
    };
    let rows = SubjectKind::ALL.into_iter().map(row).collect::<Result<_, Problem>>()?;
    Ok(CaseResult { case: memory_case_name(), rows, comparison: Comparison::GainOverGovernor })
}

fn run_child(kind: SubjectKind, keys: u32) -> Result<String, Problem> {
    let failed = |why: &dyn std::fmt::Display| Problem::failed(format!("the memory child failed: {why}"));
    let own_path = std::env::current_exe().map_err(|error| failed(&error))?;
    let mut child = Command::new(own_path);
    child.args([MEMORY_CHILD, kind.name(), &keys.to_string()]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = child.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// In the child: fills one subject and prints `RESIDENT REQUESTED`, in bytes.
pub(crate) fn measure_memory_of_one(arguments: &[String]) -> Result<(), Problem> {
    let usage = || Problem::usage(format!("`{MEMORY_CHILD}` takes a subject and a number of keys"));
    let [name, keys] = arguments else { return Err(usage()) };
    let kind = SubjectKind::named(name).ok_or_else(usage)?;
    let keys: u32 = keys.parse().map_err(|_| usage())?;

    // Everything that is not the subject's is in memory before the first reading.
    let mut filler = Filler::new();
    filler.fill(&*SubjectKind::MutexHashMap.build(Quota::MANY_KEYS, 1), 1_000);
    let before = resident::bytes()?;
    counting_allocator::start();
    let subject = kind.build(Quota::MANY_KEYS, keys);
    let admitted = filler.fill(&*subject, keys);
    let requested = counting_allocator::requested_bytes();
    let grown = resident::bytes()?.saturating_sub(before);
    let lost = subject.keys_lost();
    if admitted < u64::from(keys) || lost > u64::from(keys / KEYS_PER_LOST_KEY_MIN) {
        return Err(Problem::failed(format!(
            "{} admitted {admitted} of {keys} new keys and lost {lost}: its bytes per key would flatter it",
            kind.name()
        )));
    }
    println!("{grown} {requested}");
    Ok(())
}

/// Below 4 GiB, which is 4 kB for each of a million keys.
fn parse(printed: &str) -> Option<(u32, u32)> {
    let (resident, requested) = printed.split_once(' ')?;
    Some((resident.parse().ok()?, requested.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{measure_memory_of_one, parse};

    #[test]
    fn two_figures_come_back() {
        assert_eq!(parse("28000000 1024"), Some((28_000_000, 1_024)));
        assert_eq!(parse("28000000"), None);
    }

    #[test]
    fn a_child_without_a_known_subject_says_so() {
        let arguments = ["redis".to_owned(), "10".to_owned()];
        let message = measure_memory_of_one(&arguments).unwrap_err().to_string();
        assert_eq!(message, "`measure-memory` takes a subject and a number of keys");
    }
}
