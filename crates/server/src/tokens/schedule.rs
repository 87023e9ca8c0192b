//! When a key set is fetched again: as long after as its server says, within bounds, and sooner after a failure. Pure.

use std::time::Duration;

use http::HeaderMap;
use http::header::CACHE_CONTROL;

/// Least time from the beginning of one attempt to that of the next which a token with an unknown `kid` asks for.
pub(super) const REST: Duration = Duration::from_secs(10);
/// For so long a name that is in no key set is not asked for again.
pub(super) const UNKNOWN_FOR: Duration = Duration::from_mins(1);

/// A set is good for so long if its server says nothing.
const AGE_USUAL: Duration = Duration::from_mins(5);
/// Sooner nobody is asked again, whatever he says.
const AGE_MIN: Duration = Duration::from_mins(1);
/// A key that was withdrawn counts for so long at most, while its server can be reached.
const AGE_MAX: Duration = Duration::from_hours(1);
/// After the first failure; after each further one twice as long.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// Longest time between attempts while there is no key set.
const RETRY_MAX: Duration = Duration::from_secs(10);
/// Longest time between attempts while an old key set serves.
const RETRY_STALE_MAX: Duration = Duration::from_mins(1);

/// How long to wait after a success.
pub(super) fn after_success(max_age: Option<Duration>) -> Duration {
    max_age.unwrap_or(AGE_USUAL).clamp(AGE_MIN, AGE_MAX)
}

/// How long to wait after so many failures in a row, counted from 1.
pub(super) fn after_failure(failures: u32, has_keys: bool) -> Duration {
    let most = if has_keys { RETRY_STALE_MAX } else { RETRY_MAX };
    RETRY_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(most)
}

/// How long an answer is good by its own account: `max-age`, and nothing if it is not to be kept. The least counts if it says
/// several.
pub(super) fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all(CACHE_CONTROL).into_iter().filter_map(|line| line.to_str().ok());
    let ages = lines.flat_map(|line| line.split(',')).filter_map(|directive| {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "max-age" => value.trim().trim_matches('"').parse().ok(),
            "no-cache" | "no-store" => Some(0),
            _ => None,
        }
    });
    ages.min().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cache_control: &'static str, expected_s: u64) {
        let headers = HeaderMap::from_iter([(CACHE_CONTROL, http::HeaderValue::from_static(cache_control))]);
        assert_eq!(after_success(max_age(&headers)), Duration::from_secs(expected_s), "{cache_control}");
    }

    #[test]
    fn a_key_set_is_fetched_again_when_its_server_says_within_bounds() {
        check("max-age=600", 600);
        check("public, MAX-AGE=\"600\", must-revalidate", 600);
        check("max-age=600, max-age=120", 120);
        check("max-age=0", 60);
        check("max-age=600, no-cache", 60);
        check("no-store", 60);
        check("max-age=99999999", 3_600);
        check("max-age=18446744073709551616", 300);
        check("max-age=-1", 300);
        check("s-maxage=600", 300);
        check("", 300);
        assert_eq!(after_success(max_age(&HeaderMap::new())), Duration::from_mins(5));
    }

    #[test]
    fn failures_are_tried_again_soon_and_then_less_often() {
        let waits = |has_keys| -> Vec<u64> {
            let failures = [1, 2, 3, 4, 5, 6, 7, 8, 100, u32::MAX];
            failures.map(|failures| after_failure(failures, has_keys).as_secs()).to_vec()
        };
        assert_eq!(waits(false), [1, 2, 4, 8, 10, 10, 10, 10, 10, 10]);
        assert_eq!(waits(true), [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    }
}
