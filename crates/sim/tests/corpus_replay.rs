//! Replays the corpora of the fuzz targets, and random inputs beside them.

use std::fs;
use std::path::Path;

use tollgate_sim::policies::Read;
use tollgate_sim::seeds::{Rng, for_each_seed};
use tollgate_sim::snapshots::Restored;
use tollgate_sim::{compositions, constructions, operations, policies, requests, snapshots};

/// Runs every input of a target's corpus; what became of each.
fn replay<T>(target: &str, run: impl Fn(&[u8]) -> T) -> Vec<T> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let inputs = fs::read_dir(corpus).into_iter().flatten().flatten();
    let mut inputs: Vec<_> = inputs.map(|entry| entry.path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "there is no corpus for {target}");
    let replayed = inputs.iter().map(|input| {
        println!("{}", input.display());
        run(&fs::read(input).unwrap_or_default())
    });
    replayed.collect()
}

fn any_bytes(rng: &mut Rng) -> Vec<u8> {
    let length = rng.usize(0..2_000);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}

#[test]
fn every_input_of_the_operations_corpus_runs_as_promised() {
    replay("operations", operations::run);
}

#[test]
fn every_input_of_the_bad_input_corpus_is_refused_or_limits() {
    replay("bad_input", constructions::run);
}

#[test]
fn every_input_of_the_snapshot_corpus_is_refused_or_limits() {
    let restored = replay("snapshot", |bytes| (snapshots::version(bytes), snapshots::run(bytes)));
    for version in [2, 3] {
        let of_it = restored.iter().filter(|(found, _)| *found == version);
        let works = of_it.clone().filter(|(_, restored)| *restored == Restored::Works).count();
        let all = of_it.count();
        // Were the format to change, every input would be refused at the door.
        assert!(works > 3 && works < all, "{works} of {all} are snapshots of version {version}");
    }
}

#[test]
fn every_input_of_the_policy_corpus_is_refused_or_answers() {
    let read = replay("policy", policies::run);
    let works = read.iter().filter(|read| **read == Read::Works).count();
    assert!(works > 5 && works < read.len(), "{works} of {} are policies", read.len());
}

#[test]
fn every_input_of_the_compose_corpus_is_refused_or_rules_as_it_explains() {
    let read = replay("compose", compositions::run);
    let works = read.iter().filter(|read| **read == Read::Works).count();
    assert!(works > 3 && works < read.len(), "{works} of {} are put together", read.len());
}

/// Parts of all inputs in any order, some of them damaged.
#[test]
fn random_mixtures_of_the_compose_corpus_are_refused_or_rule_as_they_explain() {
    let texts = replay("compose", |bytes| String::from_utf8_lossy(bytes).into_owned());
    let parts: Vec<&str> =
        texts.iter().flat_map(|text| text.split("--- ")).filter(|part| !part.is_empty()).collect();
    for_each_seed(0..1_000, |rng| {
        let mixed: Vec<&str> = (0..rng.usize(1..8)).map(|_| parts[rng.usize(..parts.len())]).collect();
        let mut bytes = format!("--- {}", mixed.join("--- ")).into_bytes();
        if rng.bool() {
            let at = rng.usize(..bytes.len());
            bytes[at] = rng.u8(..);
        }
        compositions::run(&bytes);
    });
}

#[test]
fn every_input_of_the_request_corpus_is_decided() {
    replay("request", requests::run);
}

#[test]
fn random_policies_are_refused_and_random_requests_decided() {
    for_each_seed(0..300, |rng| {
        let bytes = any_bytes(rng);
        policies::run(&bytes);
        compositions::run(&bytes);
        requests::run(&bytes);
    });
}

#[test]
fn random_operations_run_as_promised() {
    for_each_seed(0..300, |rng| operations::run(&any_bytes(rng)));
}

#[test]
fn random_arguments_are_refused_or_limit() {
    for_each_seed(0..3_000, |rng| constructions::run(&any_bytes(rng)));
}

#[test]
fn random_snapshots_are_refused() {
    for_each_seed(0..300, |rng| assert_eq!(snapshots::run(&any_bytes(rng)), Restored::Refused));
}
