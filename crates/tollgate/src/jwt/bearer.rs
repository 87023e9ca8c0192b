//! Whom a token names: its claims, and the user and the plan in them. The same for every door.

use std::borrow::Cow;

use serde_json::Value;
use tollgate_policy::{Claims, Headers, JwtSettings};

use crate::InForce;

use super::{TokenClaims, TokenFault, read_unverified};

/// Where a token is looked for unless the policy says otherwise.
const USUAL_HEADER: &str = "authorization";

/// Who sent a token, kept by the door while [`Facts`](tollgate_policy::Facts) borrow it. Nobody, unless it is told otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Bearer {
    claims: TokenClaims,
    /// The user that a verified token names.
    pub user: Option<String>,
    /// The plan that a verified token names.
    pub plan: Option<String>,
}

impl Default for Bearer {
    fn default() -> Bearer {
        Bearer { claims: TokenClaims::None, user: None, plan: None }
    }
}

impl Bearer {
    /// The bearer of a token with these claims, verified here; user and plan are where the settings say.
    pub fn of_verified(claims: Value, settings: &JwtSettings) -> Bearer {
        let (user, plan) = (settings.user_in(&claims), settings.plan_in(&claims));
        let (user, plan) = (user.map(Cow::into_owned), plan.map(Cow::into_owned));
        Bearer { claims: TokenClaims::Verified(claims), user, plan }
    }

    /// The bearer by the token's own account, where no key verifies it and a rule of the policy trusts someone upstream. Such a
    /// token names neither user nor plan; rules that trust nobody upstream do not see its claims.
    pub fn by_own_account(policy: &InForce<'_>, headers: &dyn Headers) -> Result<Bearer, TokenFault> {
        if !policy.trusts_upstream_claims() {
            return Ok(Bearer::default());
        }
        let header = policy.jwt.as_ref().map_or(USUAL_HEADER, |settings| &settings.header);
        Ok(Bearer { claims: read_unverified(header, headers)?, ..Bearer::default() })
    }

    /// As a request's facts have them.
    pub fn claims(&self) -> Claims<'_> {
        self.claims.as_claims()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jwt::mint::{Field, Signer};
    use crate::{Limiter, PolicyLimiter};

    fn limiter(trust: &str) -> PolicyLimiter {
        let text = format!("{{name: a, limit_keys: [\"jwt:sub\"], {trust} rate: 1/s, burst: 1}}");
        Limiter::from_policy(tollgate_policy::Policy::parse("test", &text).unwrap()).unwrap()
    }

    #[test]
    fn a_verified_token_names_user_and_plan_where_the_settings_say() {
        let claims = json!({"sub": "ann", "plan": "pro", "org": {"tier": "gold"}});
        let usual = Bearer::of_verified(claims.clone(), &JwtSettings::default());
        assert_eq!((usual.user.as_deref(), usual.plan.as_deref()), (Some("ann"), Some("pro")));
        let settings = JwtSettings { plan_claim: "org.tier".into(), ..JwtSettings::default() };
        assert_eq!(Bearer::of_verified(claims, &settings).plan.as_deref(), Some("gold"));
    }

    #[test]
    fn a_token_that_nobody_verified_names_no_user_and_is_read_only_if_a_rule_trusts_someone() {
        let token = format!(
            "Bearer {}",
            Signer::hmac(1).token(&json!({"alg": "HS256"}), &json!({"sub": "ann", "plan": "pro"}))
        );
        let field = Field("authorization", &token);
        let trusting = limiter("jwt_trust: upstream_verified,");
        let trusting = Bearer::by_own_account(&trusting.policy(), &field).unwrap();
        assert!(matches!(trusting.claims(), Claims::Unverified(claims) if claims["sub"] == "ann"));
        assert_eq!((trusting.user, trusting.plan), (None, None));
        assert_eq!(Bearer::by_own_account(&limiter("").policy(), &field), Ok(Bearer::default()));
    }
}
