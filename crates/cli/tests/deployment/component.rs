//! What was brought into `target/tools` for these tests, and what was left out by name.

use std::io::Write;
use std::path::PathBuf;

/// Whether `TOLLGATE_SKIP` names the component; then the test says so, and does nothing.
pub(crate) fn is_skipped(name: &str) -> bool {
    let skipped = std::env::var("TOLLGATE_SKIP").unwrap_or_default();
    let is_skipped = skipped.split(',').any(|skipped| skipped.trim() == name);
    if is_skipped {
        // Not by `eprintln!`, which is shown of failing tests alone.
        let line = format!("a test with {name} does nothing: named in TOLLGATE_SKIP\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    is_skipped
}

/// A path under `target/tools`, which is there.
pub(crate) fn tool(path: &str) -> String {
    let tools = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools");
    let path = tools.join(path);
    assert!(
        path.exists(),
        "'{}' is missing; run `cargo xtask test setup`, or leave it out with TOLLGATE_SKIP",
        path.display()
    );
    path.to_str().unwrap().to_owned()
}
