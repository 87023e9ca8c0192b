//! Whom a verified token names, and on which plan.

use std::borrow::Cow;

use serde_json::Value;

use crate::JwtSettings;

impl JwtSettings {
    /// The user that the claims of a verified token name; `None` if they name nobody.
    pub fn user_in<'c>(&self, claims: &'c Value) -> Option<Cow<'c, str>> {
        named(claims, &self.user_claim)
    }

    /// The plan that the claims of a verified token name; `None` if they name none.
    pub fn plan_in<'c>(&self, claims: &'c Value) -> Option<Cow<'c, str>> {
        named(claims, &self.plan_claim)
    }
}

/// A claim as text: nested with dots, or with dots in its name (`https://example.com/plan`). Only text and numbers name anybody.
fn named<'c>(claims: &'c Value, path: &str) -> Option<Cow<'c, str>> {
    let nested = path.split('.').try_fold(claims, |value, name| value.get(name));
    match nested.or_else(|| claims.get(path))? {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_that_names_somebody_is_text_or_a_number() {
        let claims = json!({
            "sub": "ann", "id": 42, "org": {"plan": "pro"}, "https://a.example/plan": "free", "list": ["a"], "no": null,
        });
        let found = |path: &str| named(&claims, path).map(Cow::into_owned);
        assert_eq!(found("sub").as_deref(), Some("ann"));
        assert_eq!(found("id").as_deref(), Some("42"));
        assert_eq!(found("org.plan").as_deref(), Some("pro"));
        assert_eq!(found("https://a.example/plan").as_deref(), Some("free"), "dots in its name");
        for nobody in ["org", "list", "list.0", "no", "missing", "sub.x", ""] {
            assert_eq!(found(nobody), None, "{nobody}");
        }
    }
}
