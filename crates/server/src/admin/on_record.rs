//! What is kept in the database: where there is one, and what its refusals mean to a caller.

use http::StatusCode;
use tollgate_records::{ApplyError, Author, Records, RecordsError};

use super::Operations;
use super::call::Call;
use crate::http::Problem;

impl Operations {
    /// The records, for what cannot be done without.
    pub(super) fn on_record(&self) -> Result<&Records, Problem> {
        self.records.as_ref().ok_or_else(|| {
            let detail =
                "there is no place to keep this: the records are off; start with --records sqlite:FILE or \
                          --records postgres://…"
                    .to_owned();
            Problem::new(StatusCode::CONFLICT, detail).because("records_off")
        })
    }
}

impl Call {
    /// Who changes something, as the audit trail has it.
    pub(super) fn author(&self) -> Author {
        let author = self.caller.author();
        match self.peer {
            Some(peer) => author.from(peer.to_canonical()),
            None => author,
        }
    }
}

/// What a refusal of the database means to a caller.
pub(super) fn refused(error: &RecordsError) -> Problem {
    let detail = error.to_string();
    let reason = match error {
        RecordsError::Invalid { field, .. } => return Problem::field(*field, detail).because("bad_body"),
        RecordsError::NotFound { .. } => {
            return Problem::new(StatusCode::NOT_FOUND, detail).because("not_found");
        }
        RecordsError::Twice { .. } => {
            return Problem::new(StatusCode::CONFLICT, detail).because("already_there");
        }
        RecordsError::Locked { .. } => "records_locked",
        RecordsError::Full => "records_full",
        RecordsError::ReadOnly => "records_read_only",
        RecordsError::Malformed { .. } => "records_malformed",
        _ => "records_unavailable",
    };
    Problem::unavailable(detail).because(reason)
}

/// The same of a change to the rule set.
pub(super) fn not_applied(error: &ApplyError) -> Problem {
    match error {
        ApplyError::Conflict { current, by, at, .. } => {
            let problem = Problem::new(StatusCode::CONFLICT, error.to_string()).because("version_conflict");
            let problem = problem.with("current_version", *current).with("by", by.as_str());
            problem.with("at", at.to_string()).with_header("etag", format!("\"{current}\""))
        }
        ApplyError::Mistaken { why } => unsound(why.lines().map(str::to_owned).collect()),
        ApplyError::Records(error) => refused(error),
        _ => Problem::unavailable(error.to_string()),
    }
}

/// 422: the rules would have mistakes.
pub(super) fn unsound(mistakes: Vec<String>) -> Problem {
    let detail = format!("the rules would be wrong, and those in force stay:\n{}", mistakes.join("\n"));
    let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).because("unsound_rules");
    problem.with("mistakes", mistakes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_database_that_is_away_is_503_with_a_wait_and_whatever_is_wrong_with_the_request_is_not() {
        let why = String::new;
        for (error, status) in [
            (RecordsError::Unavailable { why: why() }, 503),
            (RecordsError::Unanswered { why: why() }, 503),
            (RecordsError::Locked { waited: Duration::ZERO }, 503),
            (RecordsError::Full, 503),
            (RecordsError::ReadOnly, 503),
            (RecordsError::Malformed { what: why() }, 503),
            (RecordsError::Refused { what: why() }, 503),
            (RecordsError::Invalid { field: "name", why: why() }, 400),
            (RecordsError::NotFound { what: why() }, 404),
            (RecordsError::Twice { what: why() }, 409),
        ] {
            let reply = refused(&error).reply();
            assert_eq!(reply.status().as_u16(), status, "{error}");
            assert_eq!(reply.headers().contains_key("retry-after"), status == 503, "{error}");
        }
    }
}
