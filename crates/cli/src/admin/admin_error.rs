//! Why the admin door did not do what it was asked.

use std::fmt;
use std::io;

use super::problem_document::ProblemDocument;
use crate::visible::visible;

/// Ends a command that asks the admin door.
#[derive(Debug)]
pub(crate) enum AdminError {
    /// Where the door is, or the token, cannot be.
    Setting {
        /// Whether it was typed on the command line.
        is_usage: bool,
        why: String,
    },
    /// Nobody answers.
    Silent {
        url: String,
        /// What went wrong.
        fault: Fault,
    },
    /// The door said no.
    Refused(Box<ProblemDocument>),
    /// An answer that is not what it should be.
    Garbled(String),
}

/// Why nobody answers.
#[derive(Debug)]
pub(crate) enum Fault {
    Connect(io::Error),
    Tls(String),
    /// After so many seconds.
    Late(u64),
    Broken(String),
}

impl AdminError {
    /// Whether the command line is at fault.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, AdminError::Setting { is_usage: true, .. })
    }

    /// What the door said, if it said no.
    pub(crate) fn refusal(&self) -> Option<&ProblemDocument> {
        match self {
            AdminError::Refused(document) => Some(document),
            _ => None,
        }
    }
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdminError::Setting { why, .. } => f.write_str(why),
            AdminError::Silent { url, fault } => {
                write!(f, "no answer from the admin door at {url}: {fault}; ")?;
                match fault {
                    Fault::Connect(_) => f.write_str(
                        "start a server with `tollgate serve`, or say where it is with --admin-url or TOLLGATE_ADMIN_URL",
                    ),
                    Fault::Tls(_) => f.write_str(
                        "use http:// if the door has no TLS, or name the authority's file in SSL_CERT_FILE",
                    ),
                    Fault::Late(_) | Fault::Broken(_) => {
                        f.write_str("look at the server's log, or check --admin-url")
                    }
                }
            }
            AdminError::Refused(document) => write!(f, "{document}"),
            AdminError::Garbled(why) => write!(
                f,
                "the answer is not what it should be: {}; use the `tollgate` of the server's release, or check --admin-url",
                visible(why)
            ),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Connect(error) => write!(f, "{error}"),
            Fault::Tls(why) | Fault::Broken(why) => f.write_str(&visible(why)),
            Fault::Late(seconds) => write!(f, "nothing came within {seconds} s"),
        }
    }
}
