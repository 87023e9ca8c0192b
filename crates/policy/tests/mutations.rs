//! Whatever becomes of a policy file on its way, reading it ends with a policy or with mistakes, never in a panic (F6).

use std::fs;
use std::path::Path;

use tollgate_policy::Policy;

const ROUNDS: usize = 6_000;

/// The policies of a folder of the tests.
fn texts(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "json"));
    paths.sort();
    paths.into_iter().flat_map(fs::read).collect()
}

/// One damage: a flipped byte, a sign put in, an end cut off, a line twice, a line moved, a line of another file.
fn damage(text: &mut Vec<u8>, other: &[u8], rng: &mut fastrand::Rng) {
    const SIGNS: &[u8] = b"{}[]:,-\"'#&*!|>%@`?\n\t 0\\\xff";
    let at = rng.usize(..=text.len());
    let lines =
        |text: &[u8]| text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    match rng.u8(..6) {
        0 if at < text.len() => text[at] ^= 1 << rng.u8(..8),
        1 => text.insert(at, SIGNS[rng.usize(..SIGNS.len())]),
        2 => text.truncate(at),
        kind => {
            let mut mine = lines(text);
            let source = if kind == 5 { lines(other) } else { mine.clone() };
            if let Some(line) = source.get(rng.usize(..source.len().max(1))) {
                mine.insert(rng.usize(..=mine.len()), line.clone());
            }
            if kind == 4 && !mine.is_empty() {
                mine.remove(rng.usize(..mine.len()));
            }
            *text = mine.concat();
        }
    }
}

#[test]
fn a_damaged_policy_is_read_or_refused_and_never_panics() {
    let (good, bad) = (texts("policies"), texts("mistakes"));
    let mut rng = fastrand::Rng::with_seed(0x70_6f_6c_69_63_79);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let texts = if rng.bool() { &good } else { &bad };
        let mut text = texts[rng.usize(..texts.len())].clone();
        for _ in 0..rng.u8(1..4) {
            let other = &bad[rng.usize(..bad.len())];
            damage(&mut text, other, &mut rng);
        }
        let text = String::from_utf8_lossy(&text);
        match Policy::parse("damaged.yaml", &text) {
            Ok(_) => read += 1,
            Err(mistakes) => {
                refused += 1;
                assert!(mistakes.count() > 0 && !mistakes.to_string().is_empty());
            }
        }
    }
    assert!(
        read > 100 && refused > 100,
        "{read} read, {refused} refused: the damage is too small or too great"
    );
}

#[test]
fn texts_at_the_limits_are_refused_quickly() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let wide = (0..40_000).map(|at| format!("k{at}: 1")).collect::<Vec<_>>().join("\n");
    for text in [
        deep("[", "]"),
        deep("{a: ", "}"),
        "- ".repeat(100_000),
        "a: 1\n".repeat(60_000),
        wide,
        "- {}\n".repeat(60_000),
        "x".repeat(4 * 1024 * 1024 + 1),
        "[".repeat(4 * 1024 * 1024),
        "\"".to_owned() + &"\\".repeat(1_000_001),
    ] {
        assert!(Policy::parse("limits.yaml", &text).is_err());
    }
}
