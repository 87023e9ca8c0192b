//! Why a token does not count.

use std::fmt;

/// Why a token does not count. Holds nothing of the token, so it may be logged and used as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenFault {
    /// It is longer than [`TOKEN_BYTES_MAX`](super::TOKEN_BYTES_MAX).
    TooLong,
    /// It is not three parts of base64url, its header or its claims are no JSON object, or its header names a member twice.
    Malformed,
    /// Its algorithm is `none`.
    Unsigned,
    /// Its algorithm is not one that the key it names, or any key, is for.
    AlgorithmRefused,
    /// Its header has a `crit` member: something that must be understood, and is not.
    CriticalExtension,
    /// It names a key (`kid`) that is not there.
    UnknownKey,
    /// No key that it may be signed with has signed it.
    BadSignature,
    /// Its `exp` or `nbf` is no number.
    UnreadableTime,
    /// It would be valid forever: it has no `exp`.
    NoExpiry,
    /// Its `exp` has passed.
    Expired,
    /// Its `nbf` has not come.
    NotYetValid,
    /// Its `iss` is not the one asked for.
    WrongIssuer,
    /// Its `aud` does not name us.
    WrongAudience,
}

impl TokenFault {
    /// Every fault, in the order of the declaration: the place of each is its number.
    pub const ALL: [TokenFault; 13] = [
        TokenFault::TooLong,
        TokenFault::Malformed,
        TokenFault::Unsigned,
        TokenFault::AlgorithmRefused,
        TokenFault::CriticalExtension,
        TokenFault::UnknownKey,
        TokenFault::BadSignature,
        TokenFault::UnreadableTime,
        TokenFault::NoExpiry,
        TokenFault::Expired,
        TokenFault::NotYetValid,
        TokenFault::WrongIssuer,
        TokenFault::WrongAudience,
    ];

    /// A label for counters, in `snake_case`.
    pub fn label(self) -> &'static str {
        match self {
            TokenFault::TooLong => "too_long",
            TokenFault::Malformed => "malformed",
            TokenFault::Unsigned => "unsigned",
            TokenFault::AlgorithmRefused => "algorithm_refused",
            TokenFault::CriticalExtension => "critical_extension",
            TokenFault::UnknownKey => "unknown_key",
            TokenFault::BadSignature => "bad_signature",
            TokenFault::UnreadableTime => "unreadable_time",
            TokenFault::NoExpiry => "no_expiry",
            TokenFault::Expired => "expired",
            TokenFault::NotYetValid => "not_yet_valid",
            TokenFault::WrongIssuer => "wrong_issuer",
            TokenFault::WrongAudience => "wrong_audience",
        }
    }
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenFault::TooLong => "the token is longer than 16384 bytes; put fewer claims into it",
            TokenFault::Malformed => {
                "the token is no JSON Web Token in three parts; send it as it was issued"
            }
            TokenFault::Unsigned => "the token's `alg` is `none`; send a signed one",
            TokenFault::AlgorithmRefused => {
                "the token's `alg` is not that of its key; sign it with an algorithm that `jwt.keys` names"
            }
            TokenFault::CriticalExtension => "the token's `crit` asks for an extension; issue it without",
            TokenFault::UnknownKey => {
                "the token's `kid` names no known key; refresh the key set, or sign with a key of it"
            }
            TokenFault::BadSignature => {
                "the token's signature is not by a known key; sign it with a key of `jwt.keys`"
            }
            TokenFault::UnreadableTime => "the token's `exp` or `nbf` is no number; write seconds since 1970",
            TokenFault::NoExpiry => "the token has no `exp`; issue it with one",
            TokenFault::Expired => "the token's `exp` has passed; get a new one",
            TokenFault::NotYetValid => {
                "the token's `nbf` has not come; compare the clocks, or set `jwt.leeway_s`"
            }
            TokenFault::WrongIssuer => "the token's `iss` is not `jwt.issuer`; get one from that issuer",
            TokenFault::WrongAudience => "the token's `aud` does not name `jwt.audience`; get one for it",
        })
    }
}

impl std::error::Error for TokenFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_listed_once_at_its_own_place() {
        for (at, fault) in TokenFault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, at);
        }
    }
}
