//! What a request's token says (K4): verified here, or by someone upstream whom a rule trusts.
//!
//! Promises that a token which does not verify counts as none. Without the feature `jwt` every token does.

#[cfg(feature = "jwt")]
#[path = "token/verified.rs"]
mod reading;
#[cfg(not(feature = "jwt"))]
#[path = "token/ignored.rs"]
mod reading;

pub(crate) use reading::{Token, TokenReader};
