//! Why the server did not decide.

use std::fmt;

use crate::told::CURE_OF_KEYS;
use crate::{Reply, ReplyError};

/// Why a call came to nothing. Unless it says otherwise, nothing was charged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerError {
    /// The server does not know the script: send it whole.
    NoScript,
    /// The script there is of another version than this program.
    VersionMismatch(String),
    /// `maxmemory` is reached, and nothing may be evicted.
    OutOfMemory(String),
    /// A replica: the master is elsewhere by now.
    ReadOnly(String),
    /// It is starting, or a replica without its master.
    NotReady(String),
    /// A script runs, and does not end.
    Busy(String),
    /// It cannot write to its disk, or has too few replicas, and so refuses writes.
    WritesRefused(String),
    /// The password or the user is wrong, or may not do this.
    NotAllowed(String),
    /// In Cluster: the keys are elsewhere, or are moving, or not all in one slot.
    Elsewhere(String),
    /// A key holds something that is not Tollgate's.
    WrongType(String),
    /// The call itself makes no sense to the script.
    BadArguments(String),
    /// Anything else that the server says.
    Other(String),
    /// An answer that is none of the script's.
    Malformed(ReplyError),
}

impl ServerError {
    /// What an error of the server means. Redis 6.2 wraps what a script raised in a sentence of its own, so the code is looked for
    /// anywhere.
    pub fn of_message(message: &str) -> ServerError {
        let owned = || message.to_owned();
        let code = message.split_whitespace().next().unwrap_or_default();
        match code {
            "NOSCRIPT" => return ServerError::NoScript,
            "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "CROSSSLOT" => {
                return ServerError::Elsewhere(owned());
            }
            "LOADING" | "MASTERDOWN" => return ServerError::NotReady(owned()),
            "BUSY" | "UNKILLABLE" => return ServerError::Busy(owned()),
            "NOAUTH" | "WRONGPASS" | "NOPERM" => return ServerError::NotAllowed(owned()),
            _ => {}
        }
        let holds = |text: &str| message.contains(text);
        if holds("TOLLGATEVERSION") {
            ServerError::VersionMismatch(owned())
        } else if holds("TOLLGATEARGUMENT") || holds("attempt to ") {
            ServerError::BadArguments(owned())
        } else if holds("OOM command not allowed") {
            ServerError::OutOfMemory(owned())
        } else if holds("READONLY ") {
            ServerError::ReadOnly(owned())
        } else if holds("MISCONF ") || holds("NOREPLICAS ") {
            ServerError::WritesRefused(owned())
        } else if holds("WRONGTYPE ") {
            ServerError::WrongType(owned())
        } else if ["NOPERM ", "ACL failure", "can't run this command", "can't access at least one"]
            .into_iter()
            .any(holds)
        {
            ServerError::NotAllowed(owned())
        } else if holds("non local key") || holds("same slot") {
            ServerError::Elsewhere(owned())
        } else {
            ServerError::Other(owned())
        }
    }

    /// In Cluster: the keys of one slot are on two nodes for the moment. Nothing was done.
    pub(crate) fn is_try_again(&self) -> bool {
        matches!(self, ServerError::Elsewhere(said) if said.starts_with("TRYAGAIN"))
    }

    /// The reply, unless it is an error.
    pub(crate) fn unless(reply: &Reply) -> Result<&Reply, ServerError> {
        match reply {
            Reply::Error(message) => Err(ServerError::of_message(message)),
            reply => Ok(reply),
        }
    }
}

impl From<ReplyError> for ServerError {
    fn from(error: ReplyError) -> ServerError {
        ServerError::Malformed(error)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoScript => write!(f, "the server does not know the script; send it with EVAL"),
            Self::VersionMismatch(said) => {
                write!(
                    f,
                    "the script is of another version than this program; use one version everywhere: {said}"
                )
            }
            Self::OutOfMemory(said) => write!(
                f,
                "the server has reached `maxmemory`, and writes nothing; raise it, or remove what else is stored there: {said}"
            ),
            Self::ReadOnly(said) => write!(f, "the server is a replica; ask the master: {said}"),
            Self::NotReady(said) => write!(f, "the server is not ready yet: {said}"),
            Self::Busy(said) => write!(f, "the server is held up by a script; SCRIPT KILL ends it: {said}"),
            Self::WritesRefused(said) => {
                write!(f, "the server refuses writes; see to its disk or its replicas: {said}")
            }
            Self::NotAllowed(said) if is_about_login(said) => {
                write!(f, "the server does not let us in; check user and password in the URL: {said}")
            }
            Self::NotAllowed(said) => write!(
                f,
                "the server does not let us do this; give a user that may run EVALSHA, TIME, GET, MGET, EXISTS, SET, DEL, PEXPIRE and those of sorted sets on our keys: {said}"
            ),
            Self::Elsewhere(said) => write!(f, "the keys are on another node of the cluster: {said}"),
            Self::WrongType(said) => {
                write!(f, "a key of Tollgate's name is not Tollgate's ({said}); {CURE_OF_KEYS}")
            }
            Self::BadArguments(said) => write!(f, "the script refuses its arguments: {said}"),
            Self::Other(said) if said.contains("DB index is out of range") => write!(
                f,
                "the server has no such database; use 0 to 15 in the URL, or raise `databases` there: {said}"
            ),
            Self::Other(said) => write!(f, "the server answers: {said}"),
            Self::Malformed(error) => error.fmt(f),
        }
    }
}

/// Whether it is about who we are, and not about what that user may do.
fn is_about_login(said: &str) -> bool {
    !["NOPERM", "ACL failure", "can't run this command", "can't access at least one"]
        .into_iter()
        .any(|word| said.contains(word))
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart_whichever_release_words_them() {
        let is = |message: &str, test: fn(&ServerError) -> bool| {
            assert!(test(&ServerError::of_message(message)), "{message}");
        };
        is("NOSCRIPT No matching script. Please use EVAL.", |e| *e == ServerError::NoScript);
        is("OOM command not allowed when used memory > 'maxmemory'. script: 0a, on @user_script:9.", |e| {
            matches!(e, ServerError::OutOfMemory(_))
        });
        is(
            "ERR Error running script (call to f_0a): @user_script:9: @user_script: 9: -OOM command not allowed when used memory > 'maxmemory'.",
            |e| matches!(e, ServerError::OutOfMemory(_)),
        );
        is("READONLY You can't write against a read only replica.", |e| {
            matches!(e, ServerError::ReadOnly(_))
        });
        is("ERR Error running script (call to f_0a): @user_script:9: -READONLY You can't write", |e| {
            matches!(e, ServerError::ReadOnly(_))
        });
        is("MOVED 3999 127.0.0.1:6381", |e| matches!(e, ServerError::Elsewhere(_)));
        is("TOLLGATEVERSION the script is of version 1", |e| matches!(e, ServerError::VersionMismatch(_)));
        let cure = |message: &str| ServerError::of_message(message).to_string();
        assert!(cure("WRONGPASS invalid username-password pair").contains("check user and password"));
        assert!(cure("NOAUTH Authentication required.").contains("check user and password"));
        assert!(cure("NOPERM this user has no permissions to run the 'get' command").contains("EVALSHA"));
        assert!(cure("ERR DB index is out of range").contains("use 0 to 15 in the URL"));
        is("ERR unknown command", |e| matches!(e, ServerError::Other(_)));
    }
}
