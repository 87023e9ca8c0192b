//! From flags to a request.

use std::fmt::Write;

use serde_json::{Map, Value};
use tollgate::policy::{CostSource, DescribedRequest, Policy};

use super::ExplainFlags;

/// The request that the flags describe; `Err` says why they describe none.
pub(super) fn described(flags: &ExplainFlags, policy: &Policy) -> Result<DescribedRequest, String> {
    let mut request = DescribedRequest {
        method: flags.method.clone(),
        target: flags.path.clone(),
        host: flags.host.clone().unwrap_or_default(),
        address: flags.ip,
        peer: flags.peer,
        headers: flags.header.clone(),
        user: flags.user.clone(),
        plan: flags.plan.clone(),
        claims: claims(&flags.claim)?,
        claims_are_verified: !flags.unverified,
        route: flags.route.clone(),
        body_bytes: flags.bytes,
        ..DescribedRequest::default()
    };
    if let Some(cost) = &flags.cost {
        name_cost(&mut request, cost, policy)?;
    }
    if let (Some(peer), Some((ip, client))) = (request.peer, request.seen_by(policy).contradiction()) {
        return Err(format!(
            "--ip {ip} and --peer {peer} disagree: by the policy's `client_address`, who comes from that peer with these \
             headers is {client}; drop one of them"
        ));
    }
    Ok(request)
}

/// Puts the cost wherever a rule looks for one.
fn name_cost(request: &mut DescribedRequest, cost: &str, policy: &Policy) -> Result<(), String> {
    let mut is_named = false;
    let (mut headers, mut queries) = (Vec::new(), Vec::new());
    for rule in &policy.rules {
        match &rule.cost.source {
            CostSource::Header(name) if !headers.contains(name) => headers.push(name.clone()),
            CostSource::Query(name) if !queries.contains(name) => queries.push(name.clone()),
            _ => {}
        }
    }
    for name in headers {
        request.headers.push((name.into_string(), cost.to_owned()));
        is_named = true;
    }
    for name in queries {
        let mark = if request.target.contains('?') { '&' } else { '?' };
        let _ = write!(request.target, "{mark}{name}={cost}");
        is_named = true;
    }
    if is_named {
        return Ok(());
    }
    Err(format!(
        "--cost {cost} would change nothing: no rule of the policy has a `cost_source` in the request; drop it"
    ))
}

/// `a.b=1` is `{"a": {"b": 1}}`. Numbers, `true` and `false` are what JSON has them be; quotes make them text.
fn claims(typed: &[(String, String)]) -> Result<Option<Value>, String> {
    if typed.is_empty() {
        return Ok(None);
    }
    let mut root = Map::new();
    for (name, text) in typed {
        let value = match serde_json::from_str::<Value>(text) {
            Ok(value) => value,
            Err(_) => Value::String(text.clone()),
        };
        let mut parts: Vec<&str> = name.split('.').collect();
        let Some(last) = parts.pop() else { continue };
        let mut object = &mut root;
        for part in parts {
            let inner = object.entry(part).or_insert_with(|| Value::Object(Map::new()));
            object = inner.as_object_mut().ok_or_else(|| {
                format!("--claim {name}={text}: `{part}` has a value already, so nothing can be inside it")
            })?;
        }
        if object.insert(last.to_owned(), value).is_some() {
            return Err(format!("--claim {name} is given twice; drop one"));
        }
    }
    Ok(Some(Value::Object(root)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(typed: &[(&str, &str)]) -> Result<Option<Value>, String> {
        let typed: Vec<_> =
            typed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        claims(&typed)
    }

    #[test]
    fn claims_nest_with_dots_and_are_typed_as_json_has_them() {
        let typed = [("plan", "enterprise"), ("org.id", "7"), ("org.name", "\"7\""), ("beta", "true")];
        let expected = json!({"plan": "enterprise", "org": {"id": 7, "name": "7"}, "beta": true});
        assert_eq!(read(&typed), Ok(Some(expected)));
        assert_eq!(read(&[]), Ok(None));
    }

    #[test]
    fn claims_that_contradict_each_other_are_refused() {
        assert!(read(&[("a", "1"), ("a.b", "2")]).is_err());
        assert!(read(&[("a", "1"), ("a", "2")]).is_err());
    }
}
