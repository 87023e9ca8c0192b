//! Tokens, verified.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use tollgate::jwt::{Bearer, TokenFault, Verifier, token_in};
use tollgate::policy::JwtSettings;
use tollgate::{InForce, PolicyLimiter};

use crate::Warning;
use tollgate::policy::HeaderFields;

/// Who sent the token.
pub(crate) type Token = Bearer;

/// The keys at hand.
#[derive(Debug, Default)]
pub(crate) struct TokenReader {
    /// None until there are keys for the first time, so that requests look no further.
    verifier: OnceLock<ArcSwap<Verifier>>,
}

impl TokenReader {
    pub(crate) fn set_verifier(&self, verifier: Verifier) {
        let verifier = Arc::new(verifier);
        self.verifier.get_or_init(|| ArcSwap::new(Arc::clone(&verifier))).store(verifier);
    }

    /// What the request's token says; `None` if it has none, as most do, or if nobody asks. A token that counts for nothing is an error, with a warning if that is the program's
    /// own doing.
    pub(crate) fn read(
        &self,
        limiter: &PolicyLimiter,
        policy: &InForce<'_>,
        fields: HeaderFields<'_>,
    ) -> Result<Option<Box<Token>>, Option<Warning>> {
        if let Some(verifier) = self.verifier.get() {
            let verifier = verifier.load();
            if !fields.0.contains_key(verifier.header()) {
                return Ok(None);
            }
            return verified(&verifier, limiter, policy, fields).map_err(|_| None);
        }
        match &policy.jwt {
            Some(settings) if !settings.keys.is_empty() && fields.0.contains_key(&*settings.header) => {
                Err(Some(Warning::WithoutTokenKeys))
            }
            Some(settings) if !settings.keys.is_empty() => Ok(None),
            _ if policy.trusts_upstream_claims() => {
                Bearer::by_own_account(policy, &fields).map(|token| Some(Box::new(token))).map_err(|_| None)
            }
            _ => Ok(None),
        }
    }
}

/// The bearer of a verified token; user and plan are in the usual claims if the policy has no settings.
fn verified(
    verifier: &Verifier,
    limiter: &PolicyLimiter,
    policy: &InForce<'_>,
    fields: HeaderFields<'_>,
) -> Result<Option<Box<Token>>, TokenFault> {
    let Some(token) = token_in(verifier.header(), &fields) else { return Ok(None) };
    let claims = verifier.verify(token, limiter.wall_time().as_secs())?;
    Ok(Some(Box::new(match &policy.jwt {
        Some(settings) => Bearer::of_verified(claims, settings),
        None => Bearer::of_verified(claims, &JwtSettings::default()),
    })))
}
