//! Replays the corpora of the fuzz targets `json` and `forward_auth`, and mutations of them beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tollgate_sim::seeds::{Rng, for_each_seed};

use crate::{any_forward_auth, any_json};

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The same cases on every machine.
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn every_body_of_the_json_corpus_is_answered_as_it_is_promised() {
    let mut told: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for input in corpus("json") {
        for (path, status) in any_json::run(&input) {
            told.entry(path).or_default().insert(status);
        }
    }
    // Were every body refused, or none, the corpus would test little.
    for (path, statuses) in [
        ("/v1/check", &[200, 400, 403, 429][..]),
        ("/v1/check/batch", &[200, 400]),
        ("/v1/peek", &[200, 400, 403, 429]),
        ("/v1/refund", &[200, 400]),
        ("/v1/reserve", &[200, 400, 403, 429]),
        ("/v1/commit", &[200, 400, 404]),
        ("/v1/cancel", &[200, 400, 404]),
    ] {
        let missing: Vec<_> = statuses.iter().filter(|status| !told[path].contains(status)).collect();
        assert!(missing.is_empty(), "{path} never answers {missing:?}");
    }
}

#[test]
fn every_request_of_the_forward_auth_corpus_is_answered_as_it_is_promised() {
    let told: BTreeSet<_> =
        corpus("forward_auth").iter().flat_map(|input| any_forward_auth::run(input)).collect();
    for status in [None, Some(200), Some(400), Some(403), Some(404), Some(429)] {
        assert!(told.contains(&status), "never {status:?}");
    }
}

/// An input with pieces of it, and of others, cut out, doubled, put elsewhere or replaced.
fn mutated(rng: &mut Rng, inputs: &[Vec<u8>], words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = inputs[rng.usize(0..inputs.len())].clone();
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(0..=bytes.len());
        let end = (at + rng.usize(0..12)).min(bytes.len());
        let piece: Vec<u8> = match rng.u8(0..6) {
            0 => Vec::new(),
            1 => vec![rng.u8(..)],
            2 => bytes[at..end].repeat(2),
            3 => {
                let other = &inputs[rng.usize(0..inputs.len())];
                let from = rng.usize(0..=other.len());
                other[from..(from + rng.usize(0..60)).min(other.len())].to_vec()
            }
            _ => words[rng.usize(0..words.len())].to_vec(),
        };
        let end = if rng.bool() { at } else { end };
        bytes.splice(at..end, piece);
    }
    bytes
}

#[test]
fn mutated_bodies_are_answered_as_it_is_promised() {
    let words: [&[u8]; 34] = [
        b"\"key\": ",
        b"\"rate\": ",
        b"\"burst\": ",
        b"\"cost\": ",
        b"\"buckets\": [",
        b"\"checks\": [",
        b"\"headers\": {",
        b"\"costs\": [",
        b"\"peek\": true",
        b"\"timeout_ms\": ",
        b"\"idempotency_key\": \"i\"",
        b"\"reservation\": \"$R\"",
        b"\"user\": \"ann\"",
        b"\"path\": \"/jobs\"",
        b"\"ip\": \"192.0.2.9\"",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"\"",
        b"\\",
        b"null",
        b"true",
        b"1e308",
        b"-1",
        b"0",
        b"0.5",
        b"18446744073709551615",
        b"\\u0000",
        b"\\ud800",
        b"\n",
        b"\ncommit ",
        b"\nwait 1000\n",
    ];
    let inputs = corpus("json");
    for_each_seed(0..800, |rng| {
        any_json::run(&mutated(rng, &inputs, &words));
    });
}

#[test]
fn mutated_questions_of_proxies_are_answered_as_it_is_promised() {
    let words: [&[u8]; 22] = [
        b"X-Forwarded-Method: GET\n",
        b"X-Forwarded-Uri: /\n",
        b"X-Forwarded-Host: a\n",
        b"X-Forwarded-For: 192.0.2.9\n",
        b"X-Original-URI: /free\n",
        b"Forwarded: for=192.0.2.1\n",
        b"nginx",
        b"haproxy",
        b"caddy",
        b"traefik",
        b"/",
        b"?",
        b"//",
        b"%2f",
        b"..",
        b";",
        b"\n\n",
        b": ",
        b",",
        b"\xff",
        b"\x00",
        b"POST ",
    ];
    let inputs = corpus("forward_auth");
    for_each_seed(0..500, |rng| {
        any_forward_auth::run(&mutated(rng, &inputs, &words));
    });
}
