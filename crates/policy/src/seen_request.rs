//! A described request as a door sees it under a policy: its client found (K3), its token read (K4).
//!
//! Promises the facts that the tower layer makes of the same request. Verifies nothing: the description says whether the
//! token's signature is good.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::{Claims, ClientAddress, DescribedRequest, Facts, JwtSettings, Policy, client_address};

/// A described request, and what a door finds out about it.
#[derive(Debug, Clone)]
pub struct SeenRequest<'r> {
    request: &'r DescribedRequest,
    /// How the client's address was found; `None` if no peer is described.
    pub client_address: Option<ClientAddress>,
    user: Option<Cow<'r, str>>,
    plan: Option<Cow<'r, str>>,
    claims: Claims<'r>,
}

impl DescribedRequest {
    /// The request as a door under this policy sees it.
    ///
    /// A verified token names user and plan unless the description names one of them: then it is the program that knows the
    /// client, and somebody's token says nothing of it. A policy without `jwt` has the usual claims, as has a program that
    /// verifies by keys of its own. Where the policy has keys, a token that does not verify is none.
    pub fn seen_by(&self, policy: &Policy) -> SeenRequest<'_> {
        let found = self.peer.map(|peer| client_address(&policy.client_address, Some(peer), &self.headers));
        let claims = match (&self.claims, &policy.jwt) {
            (None, _) => Claims::None,
            (Some(claims), _) if self.claims_are_verified => Claims::Verified(claims),
            (Some(_), Some(jwt)) if !jwt.keys.is_empty() => Claims::None,
            (Some(claims), _) => Claims::Unverified(claims),
        };
        let mut seen = SeenRequest {
            request: self,
            client_address: found,
            user: self.user.as_deref().map(Cow::Borrowed),
            plan: self.plan.as_deref().map(Cow::Borrowed),
            claims,
        };
        if let (Claims::Verified(claims), None, None) = (claims, &self.user, &self.plan) {
            let usual = JwtSettings::default();
            let settings = policy.jwt.as_ref().unwrap_or(&usual);
            (seen.user, seen.plan) = (settings.user_in(claims), settings.plan_in(claims));
        }
        seen
    }
}

impl SeenRequest<'_> {
    /// The facts that a door makes of it.
    pub fn facts(&self) -> Facts<'_> {
        let request = self.request;
        let found = self.client_address.and_then(|found| found.address);
        Facts {
            method: &request.method,
            target: &request.target,
            host: &request.host,
            address: request.address.or(found),
            headers: &request.headers,
            user: self.user.as_deref(),
            plan: self.plan.as_deref(),
            claims: self.claims,
            route: request.route.as_deref(),
            version: &request.version,
            body_bytes: request.body_bytes,
            cost: None,
        }
    }

    /// The address that is described and the one that was found, if they are not the same.
    pub fn contradiction(&self) -> Option<(IpAddr, IpAddr)> {
        let (described, found) = (self.request.address?, self.client_address?.address?);
        (described.to_canonical() != found).then_some((described, found))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::JwtKey;

    fn policy(jwt: Option<JwtSettings>) -> Policy {
        let text = "{name: a, scope: ip, rate: 1/s, burst: 5}";
        Policy { jwt, ..Policy::parse("p.yaml", text).unwrap_or_else(|mistakes| panic!("{mistakes}")) }
    }

    fn with_keys() -> Policy {
        let keys = vec![JwtKey::JwksFile("keys.json".into())];
        policy(Some(JwtSettings { keys, ..JwtSettings::default() }))
    }

    fn holder(request: &DescribedRequest, policy: &Policy) -> (Option<String>, Option<String>) {
        let seen = request.seen_by(policy);
        let facts = seen.facts();
        (facts.user.map(str::to_owned), facts.plan.map(str::to_owned))
    }

    #[test]
    fn a_verified_token_names_user_and_plan_unless_the_program_knows_one_of_them() {
        let claims = Some(json!({"sub": "ann", "plan": "pro"}));
        let token = DescribedRequest { claims, ..Default::default() };
        let both = (Some("ann".to_owned()), Some("pro".to_owned()));
        assert_eq!(holder(&token, &with_keys()), both);
        assert_eq!(holder(&token, &policy(None)), both, "the usual claims");
        let known = DescribedRequest { plan: Some("free".to_owned()), ..token.clone() };
        assert_eq!(holder(&known, &with_keys()), (None, Some("free".to_owned())));
        let known = DescribedRequest { user: Some("bob".to_owned()), ..token };
        assert_eq!(holder(&known, &with_keys()), (Some("bob".to_owned()), None));
    }

    #[test]
    fn an_unverified_token_names_nobody_and_is_none_where_there_are_keys() {
        let claims = Some(json!({"sub": "ann"}));
        let request = DescribedRequest { claims, claims_are_verified: false, ..Default::default() };
        for policy in [policy(None), policy(Some(JwtSettings::default()))] {
            let seen = request.seen_by(&policy);
            assert!(seen.facts().user.is_none() && matches!(seen.facts().claims, Claims::Unverified(_)));
        }
        assert!(matches!(request.seen_by(&with_keys()).facts().claims, Claims::None));
    }
}
