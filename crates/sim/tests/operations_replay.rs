//! Replays the corpus of the fuzz target `operations`, and random inputs beside it.

use std::fs;
use std::path::Path;

use tollgate_sim::operations::run;
use tollgate_sim::seeds::for_each_seed;

#[test]
fn every_input_of_the_corpus_runs_as_promised() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/operations");
    let mut inputs: Vec<_> = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        println!("{}", input.display());
        run(&fs::read(input).unwrap());
    }
}

#[test]
fn random_inputs_run_as_promised() {
    for_each_seed(0..300, |rng| {
        let length = rng.usize(0..2_000);
        let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(length).collect();
        run(&bytes);
    });
}
