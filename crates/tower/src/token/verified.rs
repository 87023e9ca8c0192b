//! Tokens, verified.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use tollgate::jwt::{TokenClaims, Verifier, read_unverified};
use tollgate::policy::{Claims, JwtSettings};
use tollgate::{InForce, PolicyLimiter};

use crate::Warning;
use crate::header_fields::HeaderFields;

/// Where a token is looked for unless the policy says otherwise.
const USUAL_HEADER: &str = "authorization";

/// What a token says, kept while a request's facts borrow it.
#[derive(Debug)]
pub(crate) struct Token {
    claims: TokenClaims,
    /// Of verified tokens alone.
    user: Option<String>,
    /// Of verified tokens alone.
    plan: Option<String>,
}

/// The keys at hand.
#[derive(Debug, Default)]
pub(crate) struct TokenReader {
    /// None until there are keys for the first time, so that requests look no further.
    verifier: OnceLock<ArcSwap<Verifier>>,
}

impl Token {
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(crate) fn plan(&self) -> Option<&str> {
        self.plan.as_deref()
    }

    pub(crate) fn claims(&self) -> Claims<'_> {
        self.claims.as_claims()
    }

    /// With the user and the plan that a verified token names; in the usual claims if the policy has no settings.
    fn of(claims: TokenClaims, settings: Option<&JwtSettings>) -> Token {
        let TokenClaims::Verified(value) = &claims else {
            return Token { claims, user: None, plan: None };
        };
        let usual;
        let settings = if let Some(settings) = settings {
            settings
        } else {
            usual = JwtSettings::default();
            &usual
        };
        let (user, plan) = (settings.user_in(value), settings.plan_in(value));
        let (user, plan) = (user.map(Cow::into_owned), plan.map(Cow::into_owned));
        Token { claims, user, plan }
    }
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
            let claims = verifier.read(&fields, limiter.wall_time().as_secs()).map_err(|_| None)?;
            return Ok(Some(Box::new(Token::of(claims, policy.jwt.as_ref()))));
        }
        match &policy.jwt {
            Some(settings) if settings.keys.is_empty() => unverified(policy, fields),
            Some(settings) if fields.0.contains_key(&*settings.header) => {
                Err(Some(Warning::WithoutTokenKeys))
            }
            Some(_) => Ok(None),
            None => unverified(policy, fields),
        }
    }
}

/// The claims by the token's own account, where there are no keys and a rule trusts someone upstream.
fn unverified(policy: &InForce<'_>, fields: HeaderFields<'_>) -> Result<Option<Box<Token>>, Option<Warning>> {
    if !policy.trusts_upstream_claims() {
        return Ok(None);
    }
    let header = policy.jwt.as_ref().map_or(USUAL_HEADER, |settings| &settings.header);
    let claims = read_unverified(header, &fields).map_err(|_| None)?;
    Ok(Some(Box::new(Token { claims, user: None, plan: None })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_that_nobody_verified_names_no_user() {
        let settings = JwtSettings::default();
        let claims = json!({"sub": "ann", "plan": "pro"});
        let token = Token::of(TokenClaims::Unverified(claims.clone()), Some(&settings));
        assert_eq!((token.user, token.plan), (None, None));
        let token = Token::of(TokenClaims::Verified(claims), Some(&settings));
        assert_eq!((token.user.as_deref(), token.plan.as_deref()), (Some("ann"), Some("pro")));
    }
}
