//! What the door says is wrong (RFC 9457), as sentences for people.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::visible::{visible, visible_lines};

/// A problem document, or what can be made of an answer that is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ProblemDocument {
    pub(crate) status: u16,
    pub(crate) title: String,
    pub(crate) detail: String,
    /// Why, in a word that programs know.
    pub(crate) reason: String,
    /// What is wrong with rules.
    pub(crate) mistakes: Vec<String>,
    /// Of a conflict: the version in force, who made it and when.
    pub(crate) current_version: Option<i64>,
    #[serde(alias = "changed_by")]
    pub(crate) by: Option<String>,
    #[serde(alias = "changed_at")]
    pub(crate) at: Option<String>,
    /// How long to wait, in whole seconds: not in the document but beside it.
    #[serde(skip)]
    pub(crate) retry_after_s: Option<u64>,
    /// Where the viewer token of the server's start was looked for, if it is not there: not in the document either.
    #[serde(skip)]
    pub(crate) missing_token_file: Option<PathBuf>,
}

/// How a token comes to the door.
const HOW: &str = "put it into TOLLGATE_ADMIN_TOKEN, or name its file with --token-file";

impl ProblemDocument {
    /// Reads the body of an answer with this status; whatever is no problem document is shown by its status alone.
    pub(super) fn read(status: u16, title: &str, body: &[u8]) -> ProblemDocument {
        match serde_json::from_slice::<ProblemDocument>(body) {
            Ok(document) if !document.detail.is_empty() => ProblemDocument { status, ..document },
            _ => ProblemDocument { status, title: title.to_owned(), ..ProblemDocument::default() },
        }
    }

    /// Whether somebody else changed the rules meanwhile.
    pub(crate) fn is_conflict(&self) -> bool {
        self.status == 409 && self.reason == "version_conflict"
    }
}

impl fmt::Display for ProblemDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() {
            let (status, title) = (self.status, visible(&self.title));
            return write!(
                f,
                "the server answered {status} {title}, and not as an admin door does; check --admin-url"
            );
        }
        f.write_str(&visible_lines(&self.detail))?;
        match (self.status, &*self.reason) {
            (401, _) | (403, "role_too_low") => write!(f, "; {HOW}")?,
            (404, "unknown_rule") => {
                f.write_str(" (here: `tollgate rules list`, `tollgate rules export`)")?;
            }
            (404, "") => f.write_str("; use the `tollgate` of the server's release")?,
            (403, "host_not_allowed") => f.write_str(", or use the address in --admin-url")?,
            _ => {}
        }
        if let Some(path) = self.missing_token_file.as_ref().filter(|_| self.reason == "no_token_configured")
        {
            let state_dir =
                "if the server has another state directory, name it with --state-dir or TOLLGATE_STATE_DIR";
            write!(f, "; there is no file '{}': {state_dir}", path.display())?;
        }
        if let Some(seconds) = self.retry_after_s {
            write!(f, "; wait {seconds} s")?;
        }
        for mistake in self.mistakes.iter().filter(|mistake| !self.detail.contains(mistake.as_str())) {
            write!(f, "\n  {}", visible_lines(mistake).replace('\n', "\n  "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, expected: &str) {
        assert_eq!(ProblemDocument::read(status, "Title", body.as_bytes()).to_string(), expected);
    }

    #[test]
    fn a_problem_is_told_as_sentences_with_the_cure() {
        check(
            404,
            r#"{"status": 404, "detail": "no rule `x` is in force; see the list", "reason": "unknown_rule"}"#,
            "no rule `x` is in force; see the list (here: `tollgate rules list`, `tollgate rules export`)",
        );
        check(
            401,
            r#"{"detail": "a token is needed; create one with `tollgate token create`", "reason": "token_needed"}"#,
            "a token is needed; create one with `tollgate token create`; put it into TOLLGATE_ADMIN_TOKEN, or name its file with \
             --token-file",
        );
        check(
            422,
            r#"{"detail": "the rules would have mistakes", "mistakes": ["a: x\n  cure", "b: y"]}"#,
            "the rules would have mistakes\n  a: x\n    cure\n  b: y",
        );
    }

    #[test]
    fn what_is_no_problem_document_is_no_admin_door() {
        let expected =
            "the server answered 502 Title, and not as an admin door does; check --admin-url".to_owned();
        for body in ["", "<html>\u{1b}[2J</html>", "[]", "{}", r#"{"detail": ""}"#] {
            check(502, body, &expected);
        }
    }

    #[test]
    fn a_problem_cannot_steer_the_terminal() {
        let body = serde_json::json!({ "detail": "a\u{1b}[2J\nb", "mistakes": ["\u{9b}c"] }).to_string();
        check(422, &body, "a\\x1b[2J\nb\n  \\u{9b}c");
    }
}
