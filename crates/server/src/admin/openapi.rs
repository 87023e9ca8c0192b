//! `GET /admin/openapi.json`: what the admin API answers, for programs that write clients.

use super::call::Call;
use crate::http::{Problem, Reply, reply_text};

/// The document.
const DOCUMENT: &str = include_str!("openapi.json");

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    Ok(reply_text("application/json", DOCUMENT))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::routes::ROUTES;
    use super::*;

    fn document() -> Value {
        serde_json::from_str(DOCUMENT).unwrap()
    }

    #[test]
    fn every_route_is_described_with_its_role_and_nothing_else_is() {
        let document = document();
        let mut described = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let role = operation["x-role"].as_str().unwrap_or_default();
                assert!(
                    operation["summary"].as_str().is_some_and(|text| !text.is_empty()),
                    "{method} {path}"
                );
                let strangers = operation["x-strangers"].as_str().unwrap_or("never");
                described.insert((
                    method.to_uppercase(),
                    path.clone(),
                    role.to_owned(),
                    strangers.to_owned(),
                ));
            }
        }
        let routed: BTreeSet<_> = ROUTES
            .iter()
            .map(|route| {
                let (role, strangers) = (route.role.as_str().to_owned(), route.strangers.as_str().to_owned());
                (route.method.to_string(), route.path.to_owned(), role, strangers)
            })
            .collect();
        assert_eq!(routed.len(), ROUTES.len(), "a route is there twice");
        assert_eq!(described, routed);
    }

    #[test]
    fn every_value_of_a_path_and_every_refusal_is_described() {
        let document = document();
        for route in &ROUTES {
            let method = route.method.as_str().to_lowercase();
            let operation = &document["paths"][route.path][&method];
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let of_path: BTreeSet<String> = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
                .collect();
            let values: BTreeSet<String> =
                route.path.split('/').filter(|segment| segment.starts_with('{')).map(str::to_owned).collect();
            assert_eq!(of_path, values, "{method} {}", route.path);
            let responses = operation["responses"].as_object().unwrap();
            for status in ["401", "403", "429"] {
                assert!(responses.contains_key(status), "{method} {} {status}", route.path);
            }
            assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {}", route.path);
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let mut pending = vec![&document];
        while let Some(value) = pending.pop() {
            match value {
                Value::Object(members) => {
                    if let Some(place) = members.get("$ref").and_then(Value::as_str) {
                        assert!(document.pointer(place.trim_start_matches('#')).is_some(), "{place}");
                    }
                    pending.extend(members.values());
                }
                Value::Array(items) => pending.extend(items),
                _ => {}
            }
        }
    }
}
