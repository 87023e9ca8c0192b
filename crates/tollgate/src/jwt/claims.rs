//! What a verified token must say: that it is valid now, from whom it is, and for whom.

use serde_json::Value;
use tollgate_policy::JwtSettings;

use super::TokenFault;

/// What is asked of a token's claims.
#[derive(Debug, Clone)]
pub(super) struct Demands {
    issuer: Option<Box<str>>,
    audience: Option<Box<str>>,
    leeway_s: u64,
    /// Whether a token must have an `exp`.
    pub needs_expiry: bool,
}

impl Demands {
    pub(super) fn new(settings: &JwtSettings) -> Demands {
        Demands {
            issuer: settings.issuer.clone(),
            audience: settings.audience.clone(),
            leeway_s: settings.leeway_s,
            needs_expiry: true,
        }
    }

    /// Whether the claims are good at this time, in seconds since 1970. Fractions of `exp` are cut off and those of `nbf` rounded
    /// up, so that a token is never valid for longer than it says.
    pub(super) fn check(&self, claims: &Value, unix_s: u64) -> Result<(), TokenFault> {
        match claims.get("exp") {
            None if self.needs_expiry => return Err(TokenFault::NoExpiry),
            None => {}
            Some(exp) => {
                let exp_s = seconds(exp, f64::floor)?;
                if unix_s >= exp_s.saturating_add(self.leeway_s) {
                    return Err(TokenFault::Expired);
                }
            }
        }
        if let Some(nbf) = claims.get("nbf")
            && unix_s.saturating_add(self.leeway_s) < seconds(nbf, f64::ceil)?
        {
            return Err(TokenFault::NotYetValid);
        }
        if let Some(issuer) = &self.issuer
            && claims.get("iss").and_then(Value::as_str) != Some(issuer)
        {
            return Err(TokenFault::WrongIssuer);
        }
        match (&self.audience, claims.get("aud")) {
            (None, _) => Ok(()),
            (Some(audience), Some(Value::String(named))) if **audience == **named => Ok(()),
            (Some(audience), Some(Value::Array(named)))
                if named.iter().any(|named| named.as_str() == Some(audience)) =>
            {
                Ok(())
            }
            _ => Err(TokenFault::WrongAudience),
        }
    }
}

/// A `NumericDate` in whole seconds; what lies before 1970 is 1970, and what lies beyond all time is the end of it.
fn seconds(value: &Value, round: fn(f64) -> f64) -> Result<u64, TokenFault> {
    if let Some(seconds) = value.as_u64() {
        return Ok(seconds);
    }
    let seconds = value.as_f64().filter(|seconds| seconds.is_finite()).ok_or(TokenFault::UnreadableTime)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from a float saturates, which is what is wanted"
    )]
    Ok(round(seconds) as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DEMANDS: Demands = Demands { issuer: None, audience: None, leeway_s: 0, needs_expiry: true };

    #[track_caller]
    fn check(demands: &Demands, claims: &Value, expected: Result<(), TokenFault>) {
        assert_eq!(demands.check(claims, 1_000), expected, "{claims}");
    }

    #[test]
    fn a_token_ends_at_its_expiry_and_begins_at_its_start() {
        check(&DEMANDS, &json!({"exp": 1_001}), Ok(()));
        check(&DEMANDS, &json!({"exp": 1_000}), Err(TokenFault::Expired));
        check(&DEMANDS, &json!({"exp": 1_000.9}), Err(TokenFault::Expired));
        check(&DEMANDS, &json!({"exp": -5}), Err(TokenFault::Expired));
        check(&DEMANDS, &json!({"exp": 1e300}), Ok(()));
        check(&DEMANDS, &json!({"exp": 2_000, "nbf": 1_000}), Ok(()));
        check(&DEMANDS, &json!({"exp": 2_000, "nbf": 1_000.1}), Err(TokenFault::NotYetValid));
        check(&DEMANDS, &json!({"exp": 2_000, "nbf": u64::MAX}), Err(TokenFault::NotYetValid));
    }

    #[test]
    fn leeway_widens_both_ends_by_exactly_itself() {
        let demands = Demands { leeway_s: 10, ..DEMANDS };
        check(&demands, &json!({"exp": 991, "nbf": 1_010}), Ok(()));
        check(&demands, &json!({"exp": 990}), Err(TokenFault::Expired));
        check(&demands, &json!({"exp": 2_000, "nbf": 1_011}), Err(TokenFault::NotYetValid));
        let demands = Demands { leeway_s: u64::MAX, ..DEMANDS };
        check(&demands, &json!({"exp": 1, "nbf": u64::MAX}), Ok(()));
    }

    #[test]
    fn a_token_without_expiry_is_refused_unless_that_was_asked_for() {
        check(&DEMANDS, &json!({}), Err(TokenFault::NoExpiry));
        check(&Demands { needs_expiry: false, ..DEMANDS }, &json!({}), Ok(()));
        check(&Demands { needs_expiry: false, ..DEMANDS }, &json!({"exp": 1}), Err(TokenFault::Expired));
    }

    #[test]
    fn a_time_that_is_no_number_is_refused() {
        for time in [json!("2000"), json!(null), json!(true), json!([2_000]), json!({})] {
            check(&DEMANDS, &json!({"exp": time}), Err(TokenFault::UnreadableTime));
            check(&DEMANDS, &json!({"exp": 2_000, "nbf": time}), Err(TokenFault::UnreadableTime));
        }
    }

    #[test]
    fn issuer_and_audience_count_when_they_are_asked_for() {
        let demands = Demands { issuer: Some("me".into()), audience: Some("us".into()), ..DEMANDS };
        let claims = |iss: Value, aud: Value| json!({"exp": 2_000, "iss": iss, "aud": aud});
        check(&demands, &claims(json!("me"), json!("us")), Ok(()));
        check(&demands, &claims(json!("me"), json!(["them", "us"])), Ok(()));
        for iss in [json!("ME"), json!(""), json!(["me"]), json!(null)] {
            check(&demands, &claims(iss, json!("us")), Err(TokenFault::WrongIssuer));
        }
        for aud in [json!("them"), json!([]), json!(["them"]), json!([["us"]]), json!({"us": 1}), json!(null)]
        {
            check(&demands, &claims(json!("me"), aud), Err(TokenFault::WrongAudience));
        }
        check(&demands, &json!({"exp": 2_000}), Err(TokenFault::WrongIssuer));
        check(&DEMANDS, &claims(json!("anybody"), json!("anybody")), Ok(()));
    }
}
