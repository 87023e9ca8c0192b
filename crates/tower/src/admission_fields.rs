//! What an admitted client is told, kept until its response is there.

use http::HeaderMap;
use tollgate::{Decision, DraftFields, PolicyLimiter};

use crate::fields::Fields;

/// The header fields of an admission.
#[derive(Debug)]
pub(crate) enum AdmissionFields {
    /// Those of nearly every admission.
    Draft(DraftFields),
    /// Any others, or none.
    Listed(Fields),
}

impl AdmissionFields {
    /// What the client is told; nothing if the policy has no header profile.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "where this is a call, every request copies the fields")]
    pub(crate) fn of(limiter: &PolicyLimiter, decision: &Decision) -> AdmissionFields {
        if let Some(draft) = decision.draft_fields() {
            return AdmissionFields::Draft(draft);
        }
        let mut fields = Fields::default();
        limiter.each_header_of_admission(decision, |name, value| fields.push(name, value));
        AdmissionFields::Listed(fields)
    }

    /// Adds all to a response, unless it has one of them already.
    #[inline]
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        match self {
            AdmissionFields::Draft(draft) => draft.add_to(headers),
            AdmissionFields::Listed(fields) if !fields.is_any_in(headers) => fields.write_to(headers),
            AdmissionFields::Listed(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate::Limiter;
    use tollgate::policy::{Facts, Policy};

    use http::{HeaderName, HeaderValue};

    use super::*;

    fn fields(headers: &str) -> AdmissionFields {
        let policy = format!(
            "{{answers: {{headers: {headers}}}, rules: [{{name: a, scope: ip, rate: 1/h, burst: 5}}]}}"
        );
        let limiter = Limiter::from_policy(Policy::parse("test.yaml", &policy).unwrap()).unwrap();
        AdmissionFields::of(&limiter, &limiter.check(&Facts::new("GET", "/")))
    }

    #[test]
    fn a_response_gets_the_fields_of_its_policy() {
        for (profile, name, value) in [
            ("draft", "ratelimit-policy", "\"a\";q=5;w=18000"),
            ("draft", "ratelimit", "\"a\";r=4;t=3600"),
            ("legacy", "ratelimit-remaining", "4"),
            ("x", "x-ratelimit-remaining", "4"),
        ] {
            let mut headers = HeaderMap::new();
            fields(profile).add_to(&mut headers);
            assert_eq!(headers[name], value, "{profile}");
        }
        let mut headers = HeaderMap::new();
        fields("none").add_to(&mut headers);
        assert!(headers.is_empty());
    }

    #[test]
    fn a_response_with_other_fields_keeps_them_and_gets_the_same() {
        for profile in ["draft", "legacy", "x"] {
            let (mut empty, mut other) = (HeaderMap::new(), HeaderMap::new());
            let fields = [(); 2].map(|()| fields(profile));
            let own = (HeaderName::from_static("etag"), HeaderValue::from_static("\"1\""));
            other.insert(own.0.clone(), own.1.clone());
            for (fields, headers) in fields.into_iter().zip([&mut empty, &mut other]) {
                fields.add_to(headers);
            }
            assert_eq!(other.remove(own.0), Some(own.1), "{profile}");
            assert_eq!(other, empty, "{profile}");
        }
    }

    #[test]
    fn a_response_that_has_one_of_the_fields_keeps_its_own_and_gets_none() {
        for (profile, name) in [
            ("draft", "ratelimit-policy"),
            ("draft", "ratelimit"),
            ("legacy", "ratelimit-limit"),
            ("x", "x-ratelimit-reset"),
        ] {
            let name = HeaderName::from_static(name);
            let mut own = HeaderMap::from_iter([(name.clone(), HeaderValue::from(7))]);
            fields(profile).add_to(&mut own);
            assert_eq!((own.len(), &own[name]), (1, &HeaderValue::from(7)), "{profile}");
        }
    }
}
