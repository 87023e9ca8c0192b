//! The header fields of an answer (H1, H2, H3), in three profiles, any set of them.
//!
//! All tell of one bucket: of an admitted check the tightest, of a denial the one to wait for longest. `RateLimit-Policy` alone
//! lists every rule that denied.

use tollgate_core::CHARGES_MAX;

use super::line::Line;
use super::standing::{Standing, seconds_up};
use super::{Answering, Outcome};

/// Longest reason in a header field, in characters; what is beyond is cut off.
const REASON_CHARS_MAX: usize = 128;

/// Shows each field to `visit`.
pub(super) fn each(answering: &Answering<'_>, mut visit: impl FnMut(&str, &str)) {
    let retry_s = answering.retry_after_s();
    if let Some(seconds) = retry_s {
        visit("Retry-After", Line::new().number(seconds).as_str());
    }
    if let Some(standing) = answering.outcome.standing() {
        let reset_s = match answering.outcome {
            Outcome::Admitted { .. } => standing.full_in().map(seconds_up),
            _ => retry_s,
        };
        let profiles = answering.settings.headers;
        if profiles.draft {
            let mut line = Line::new();
            policies(&mut line, answering, &standing);
            visit("RateLimit-Policy", line.as_str());
            let mut line = Line::new();
            line.quoted(standing.rule());
            service_limit(&mut line, standing.remaining(), reset_s);
            visit("RateLimit", line.as_str());
        }
        if profiles.legacy {
            let names = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
            three(names, &standing, reset_s, &mut visit);
        }
        if profiles.x {
            let names = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
            let at = reset_s.map(|seconds| unix_s_up(answering).saturating_add(seconds));
            three(names, &standing, at, &mut visit);
        }
    }
    if let Some(reason) = answering.reason() {
        visit("Cache-Control", "no-store");
        visit(&answering.settings.reason_header, Line::new().text(reason, REASON_CHARS_MAX).as_str());
    }
}

/// `"user";q=50;w=5`, of each rule that denied, or of the one that is tightest.
fn policies(line: &mut Line, answering: &Answering<'_>, tightest: &Standing<'_>) {
    if let Outcome::Admitted { .. } = answering.outcome {
        policy(line, tightest);
    }
    for (index, violation) in answering.outcome.violated().take(CHARGES_MAX).enumerate() {
        if index > 0 {
            line.literal(", ");
        }
        policy(line, &violation.standing);
    }
}

/// `"user";q=50;w=5`, of one rule.
pub(super) fn policy(line: &mut Line, standing: &Standing<'_>) {
    line.quoted(standing.rule()).literal(";q=").number(standing.quota());
    if standing.counts_places() {
        line.literal(r#";qu="concurrent-requests""#);
    }
    if let Some(window_s) = standing.window_s() {
        line.literal(";w=").number(window_s);
    }
}

/// `;r=42;t=1`, after the name.
#[inline]
pub(super) fn service_limit(line: &mut Line, remaining: u64, reset_s: Option<u64>) {
    line.literal(";r=").number(remaining);
    if let Some(seconds) = reset_s {
        line.literal(";t=").number(seconds);
    }
}

/// Limit, remaining and, if it is known, reset.
fn three(names: [&str; 3], standing: &Standing<'_>, reset: Option<u64>, visit: &mut impl FnMut(&str, &str)) {
    let values = [Some(standing.quota()), Some(standing.remaining()), reset];
    for (name, value) in names.into_iter().zip(values) {
        if let Some(value) = value {
            visit(name, Line::new().number(value).as_str());
        }
    }
}

/// The time since 1970 in seconds, rounded up: a reset that is told as a time of day lies no earlier than the wait's end.
fn unix_s_up(answering: &Answering<'_>) -> u64 {
    let now = answering.now;
    now.as_secs().saturating_add(u64::from(now.subsec_nanos() > 0))
}
