//! The script as a contract: Rust, Node (ioredis) and Python (redis-py) share buckets on one real server, by the modules of
//! `examples/redis-node` and `examples/redis-python`, which know no more than `docs/redis-script.md` says.
//!
//! `TOLLGATE_SKIP=redis,ioredis,redis-py` leaves them out by name.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;

#[path = "languages/agreement.rs"]
mod agreement;
#[path = "languages/as_shown.rs"]
mod as_shown;
#[path = "languages/complaints.rs"]
mod complaints;
#[path = "languages/language.rs"]
mod language;
#[path = "languages/node.rs"]
mod node;
#[path = "languages/program.rs"]
mod program;
#[path = "languages/sharing.rs"]
mod sharing;

use language::Language;

/// The languages that were not left out by name; whoever is left out is told of.
fn languages() -> Vec<Language> {
    Language::ALL.into_iter().filter(|language| !fleet::is_skipped(language.component())).collect()
}
