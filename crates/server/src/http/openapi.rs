//! `/openapi.json`: what the HTTP door answers, for programs that write clients.

use super::{Reply, answer};

/// The document.
pub(crate) const DOCUMENT: &str = include_str!("openapi.json");

/// `GET /openapi.json`.
pub(super) fn reply() -> Reply {
    answer::text("application/json", DOCUMENT)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tollgate::CHARGES_MAX;

    use super::*;
    use crate::http::wire::CHECKS_MAX;

    #[test]
    fn the_bounds_of_lists_are_those_that_are_kept() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let most = |schema: &str, field: &str| {
            document["components"]["schemas"][schema]["properties"][field]["maxItems"].as_u64()
        };
        assert_eq!(most("Check", "buckets"), Some(CHARGES_MAX as u64));
        assert_eq!(most("Batch", "checks"), Some(CHECKS_MAX as u64));
    }

    #[test]
    fn forward_auth_is_described_for_every_method_with_and_without_a_path() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        for path in ["/v1/forward-auth/{proxy}", "/v1/forward-auth/{proxy}/{path}"] {
            for method in ["get", "put", "post", "delete", "options", "head", "patch"] {
                for response in document["paths"][path][method]["responses"].as_object().unwrap().values() {
                    let place = response["$ref"].as_str().unwrap().trim_start_matches('#');
                    assert!(
                        document.pointer(place).is_some_and(|it| it["description"].is_string()),
                        "{place}"
                    );
                }
            }
        }
    }
}
