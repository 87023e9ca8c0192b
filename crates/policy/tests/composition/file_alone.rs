//! With nothing but a file, a composition is what the parser makes of it: the same policy, or the same mistakes.

use std::fs;
use std::path::Path;

use tollgate_policy::{Policy, Sources};

/// Every file of a folder beside this crate, as text.
fn texts(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()).collect()
}

#[test]
fn a_composition_of_a_file_is_the_policy_of_the_file() {
    let (mut read, mut refused) = (0, 0);
    for folder in ["tests/policies", "tests/mistakes", "../../docs/examples", "../../fuzz/corpus/policy"] {
        for text in texts(folder) {
            let parsed = Policy::parse("p.yaml", &text);
            let composed = Policy::compose(&Sources { file: Some(("p.yaml", &text)), ..Sources::default() });
            match (parsed, composed) {
                (Ok(parsed), Ok(composed)) => {
                    assert_eq!(format!("{parsed:?}"), format!("{:?}", composed.policy));
                    assert_eq!((composed.notes.len(), composed.next_expiry_unix_s), (0, None));
                    read += 1;
                }
                (Err(parsed), Err(composed)) => {
                    assert_eq!(parsed, composed);
                    assert_eq!(parsed.to_string(), composed.to_string());
                    refused += 1;
                }
                (parsed, composed) => panic!("{text}\n{parsed:?}\n{composed:?}"),
            }
        }
    }
    assert!(read > 20 && refused > 100, "{read} policies and {refused} that are none");
}

#[test]
fn a_composition_of_nothing_limits_nothing() {
    let composed = Policy::compose(&Sources::default()).unwrap();
    assert_eq!((composed.policy.rules.len(), &*composed.policy.name), (0, "default"));
}
