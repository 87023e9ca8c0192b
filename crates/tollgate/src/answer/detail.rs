//! What people are told of a denial: the rule's own message, or the figures in a sentence.

use super::{Answering, Outcome, Refusal, RefusalKind, Violation};
use crate::Cause;

/// Longest message, in characters; what is beyond is cut off.
const DETAIL_CHARS_MAX: usize = 512;

/// One sentence or two; nothing if it was admitted.
pub(super) fn of(answering: &Answering<'_>) -> String {
    let outcome = &answering.outcome;
    let retry = answering.retry.map_or(String::new(), |retry| format!("Retry in {} ms.", retry.exact_ms()));
    let detail = match (outcome, outcome.decisive()) {
        (Outcome::Admitted { .. }, _) => String::new(),
        (Outcome::Denied { cause: Cause::TableFull(_), .. }, _) => {
            format!("There is no room for another client at the moment. {retry}")
        }
        (Outcome::Denied { .. }, Some(Violation { message: Some(message), .. })) => (*message).to_owned(),
        (Outcome::Denied { .. }, Some(Violation { standing, .. })) => {
            let (left, quota) = (standing.remaining(), standing.quota());
            format!("Rule `{}` has {left} of {quota} left. {retry}", standing.rule())
        }
        (Outcome::Denied { .. }, None) => format!("The limit is exceeded. {retry}"),
        (Outcome::Never { .. }, Some(Violation { standing, .. })) => format!(
            "The request costs more than rule `{}` ever holds, which is {}. No wait will help.",
            standing.rule(),
            standing.quota()
        ),
        (Outcome::Never { .. }, None) => {
            "The request costs more than its limit ever holds. No wait will help.".to_owned()
        }
        (Outcome::Refused(refusal), _) => of_refusal(refusal),
        (Outcome::Unavailable { .. }, _) => format!("The limiter's store does not answer. {retry}"),
    };
    cut(detail)
}

fn of_refusal(refusal: &Refusal<'_>) -> String {
    if let Some(message) = refusal.message {
        return message.to_owned();
    }
    let by = refusal.by;
    match refusal.kind {
        RefusalKind::Blocked => format!("Rule `{by}` blocks the request."),
        RefusalKind::KeyMissing => format!("The request lacks what rule `{by}` knows its client by."),
        RefusalKind::PathEncoded => {
            "The path has an encoded slash, a backslash, white space at the end of a segment, a NUL byte, or `//` at the beginning. Send the path without it."
                .to_owned()
        }
        RefusalKind::KillSwitch => format!("Kill switch `{by}` is on."),
        RefusalKind::TooManyRules => {
            "More rules govern the request than can be enforced together.".to_owned()
        }
    }
}

fn cut(mut detail: String) -> String {
    if let Some((end, _)) = detail.char_indices().nth(DETAIL_CHARS_MAX) {
        detail.truncate(end);
    }
    detail
}
