//! Tokens (RFC 7519), verified (K4): what a token says counts only if a key of ours signed it and its time has come.
//!
//! Promises: no token makes it panic; every refusal has a name ([`TokenFault`]); a key verifies with its own algorithms alone,
//! whatever a token's header says. It reads no clock and fetches nothing: time and fetched key sets are arguments.
//!
//! ```
//! use tollgate::jwt::{KeyMaterial, TokenFault, Verifier};
//! use tollgate_policy::JwtSettings;
//!
//! let settings = JwtSettings {
//!     header: "authorization".into(),
//!     keys: vec![],
//!     issuer: None,
//!     audience: None,
//!     user_claim: "sub".into(),
//!     plan_claim: "plan".into(),
//!     leeway_s: 0,
//! };
//! let secret = KeyMaterial::secret("`jwt.keys[0]`", "HS256", *b"a secret of thirty-two bytes ...");
//! let verifier = Verifier::new(&settings, &[secret])?;
//! assert_eq!(verifier.verify("not.a.token", 1_700_000_000), Err(TokenFault::Malformed));
//! # Ok::<(), tollgate::jwt::JwtKeyError>(())
//! ```

mod bearer;
mod claims;
mod claims_json;
mod fault;
mod jwks;
mod key;
mod key_error;
mod material;
mod pem;
mod reading;
mod token;
mod verifier;

#[cfg(test)]
mod forgeries;
#[cfg(test)]
mod key_mistakes;
#[cfg(test)]
mod mint;

pub use bearer::Bearer;
pub use fault::TokenFault;
pub use jwks::JWKS_KEYS_MAX;
pub use key_error::{JwtKeyError, JwtKeyProblem};
pub use material::{KEY_BYTES_MAX, KeyMaterial, ToFetch, read_key_material};
pub use reading::{TokenClaims, read_unverified, token_in};
pub use token::{TOKEN_BYTES_MAX, decode_unverified, named_key};
pub use verifier::{KEYS_MAX, KEYS_TRIED_MAX, Verifier};
