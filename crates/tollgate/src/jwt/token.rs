//! A token taken apart. Nothing here is verified.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Header, decode_header};
use serde_json::Value;

use super::{TokenFault, claims_json};

/// Longest token that is read, in bytes.
pub const TOKEN_BYTES_MAX: usize = 16_384;

/// A token's parts, decoded but for the claims, which are nobody's business before the signature is verified.
pub(super) struct Parts<'t> {
    pub header: Header,
    /// What is signed: header and claims as they were sent.
    pub signed: &'t [u8],
    pub signature: Vec<u8>,
    claims: &'t str,
}

impl<'t> Parts<'t> {
    pub(super) fn of(token: &'t str) -> Result<Parts<'t>, TokenFault> {
        let (signed, header, claims, signature) = split(token)?;
        let signature = decoded(signature)?;
        // Strict: a member that occurs twice is an error, so nobody can read another `kid` or `alg` than we do.
        let header = decode_header(token).map_err(|_| header_fault(header))?;
        if header.crit.is_some() {
            return Err(TokenFault::CriticalExtension);
        }
        Ok(Parts { header, signed: signed.as_bytes(), signature, claims })
    }

    /// The claims: a JSON object.
    pub(super) fn claims(&self) -> Result<Value, TokenFault> {
        object(self.claims)
    }
}

/// What a token says, by its own account: anybody can write that. Only for rules that trust someone upstream to have verified
/// it (`jwt_trust: upstream_verified`). Neither its signature nor its times are looked at.
pub fn decode_unverified(token: &str) -> Result<Value, TokenFault> {
    let (_, header, claims, signature) = split(token)?;
    decoded(signature)?;
    object(header)?;
    object(claims)
}

/// The key (`kid`) that a token names, by its own account; `None` if it names none.
pub fn named_key(token: &str) -> Result<Option<String>, TokenFault> {
    Parts::of(token).map(|parts| parts.header.kid)
}

/// What is signed, header, claims and signature.
fn split(token: &str) -> Result<(&str, &str, &str, &str), TokenFault> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenFault::TooLong);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenFault::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(TokenFault::Malformed)?;
    Ok((signed, header, claims, signature))
}

/// Base64url without padding, every bit of it used: one value has one spelling.
fn decoded(part: &str) -> Result<Vec<u8>, TokenFault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFault::Malformed)
}

fn object(part: &str) -> Result<Value, TokenFault> {
    let value = claims_json::read(&decoded(part)?);
    value.filter(Value::is_object).ok_or(TokenFault::Malformed)
}

/// What is wrong with a header that could not be read.
fn header_fault(header: &str) -> TokenFault {
    let header = object(header).unwrap_or_default();
    match header.get("alg").and_then(Value::as_str) {
        Some(algorithm) if algorithm.eq_ignore_ascii_case("none") => TokenFault::Unsigned,
        Some(algorithm) if algorithm.parse::<jsonwebtoken::Algorithm>().is_err() => {
            TokenFault::AlgorithmRefused
        }
        _ => TokenFault::Malformed,
    }
}
