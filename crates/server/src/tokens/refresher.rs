//! Keeps one key set fresh: fetches it, puts it in force, waits, and begins again.
//!
//! Promises that only one fetch of a set is under way at a time; that those which tokens ask for begin at least [`REST`] after the one
//! before; that a failure changes nothing but what is counted and logged.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tollgate::jwt::JwtKeyError;

use super::Tokens;
use super::fetch::{FetchError, Fetched};
use super::ring::KeySource;
use super::schedule::{self, REST};

/// Why a key set was not refreshed.
enum Failure {
    Fetch(FetchError),
    Keys(JwtKeyError),
}

/// Goes on for ever.
pub(super) async fn keep_fresh<F>(tokens: Arc<Tokens>, source: Arc<KeySource>, fetch: impl Fn() -> F)
where
    F: Future<Output = Result<Fetched, FetchError>>,
{
    let (mut failures, mut has_keys) = (0_u32, tokens.has_set(&source));
    loop {
        let mut rest = pin!(tokio::time::sleep(REST));
        let result = refresh(&tokens, &source, fetch()).await;
        let wait = match &result {
            Ok(max_age) => {
                if failures > 0 || !has_keys {
                    tracing::info!(source = source.name(), "the key set is at hand");
                }
                (failures, has_keys) = (0, true);
                schedule::after_success(*max_age)
            }
            Err(failure) => {
                failures = failures.saturating_add(1);
                // Fewer and fewer lines for one outage.
                if failures.is_power_of_two() {
                    tell(&source, failure, failures, has_keys);
                }
                schedule::after_failure(failures, has_keys)
            }
        };
        // After it was logged: a start that waits for the first attempt has said what became of it.
        note(&tokens, &source, result.is_ok()).await;
        let mut asked_for = pin!(async {
            rest.as_mut().await;
            source.wanted.notified().await;
        });
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = &mut asked_for => {}
        }
    }
}

// What changes keys waits for a reload of the policy that is under way, and large key sets take a while to read: neither is for a
// thread that serves connections.

async fn note(tokens: &Arc<Tokens>, source: &Arc<KeySource>, is_ok: bool) {
    let (tokens, source) = (Arc::clone(tokens), Arc::clone(source));
    let _ = tokio::task::spawn_blocking(move || tokens.note_attempt(&source, is_ok)).await;
}

async fn refresh(
    tokens: &Arc<Tokens>,
    source: &Arc<KeySource>,
    fetched: impl Future<Output = Result<Fetched, FetchError>>,
) -> Result<Option<Duration>, Failure> {
    let Fetched { text, max_age } = fetched.await.map_err(Failure::Fetch)?;
    let (tokens, source) = (Arc::clone(tokens), Arc::clone(source));
    let put = tokio::task::spawn_blocking(move || tokens.put(&source, &text)).await;
    // Only a program that ends cancels it.
    put.unwrap_or(Ok(())).map_err(Failure::Keys)?;
    Ok(max_age)
}

fn tell(source: &KeySource, failure: &Failure, failures: u32, has_keys: bool) {
    let but = if has_keys { "the one before counts" } else { "until it comes, its tokens count as none" };
    tracing::warn!(source = source.name(), failures, "the key set cannot be fetched, and {but}: {failure}");
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Fetch(error) => write!(f, "{error}"),
            // Its source is said beside it.
            Failure::Keys(error) => write!(f, "{}", error.problem),
        }
    }
}
