//! Which requests have a span, and what it is called: never by what the client wrote.

use http::Method;

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// One of ours.
    Known(&'static str),
    /// Nothing is there.
    Unknown,
    /// Asked every few seconds by those who watch over us, and of no interest.
    Untraced,
}

impl Route {
    /// Of a path, without its query.
    pub(super) fn of(path: &str) -> Route {
        let known = match path {
            "/v1/check" => "/v1/check",
            "/v1/check/batch" => "/v1/check/batch",
            "/v1/peek" => "/v1/peek",
            "/v1/refund" => "/v1/refund",
            "/v1/reserve" => "/v1/reserve",
            "/v1/commit" => "/v1/commit",
            "/v1/cancel" => "/v1/cancel",
            "/livez" | "/readyz" | "/metrics" | "/openapi.json" => return Route::Untraced,
            _ => match path.strip_prefix("/v1/forward-auth/").and_then(|rest| rest.split('/').next()) {
                Some("nginx") => "/v1/forward-auth/nginx",
                Some("haproxy") => "/v1/forward-auth/haproxy",
                Some("traefik") => "/v1/forward-auth/traefik",
                Some("caddy") => "/v1/forward-auth/caddy",
                _ => return Route::Unknown,
            },
        };
        Route::Known(known)
    }
}

/// The method as the conventions of OpenTelemetry have it: one that is not usual is `_OTHER`.
pub(super) fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_the_api_has_a_route_and_no_route_holds_what_a_client_wrote() {
        let api: serde_json::Value = serde_json::from_str(include_str!("../http/openapi.json")).unwrap();
        let paths = api["paths"].as_object().unwrap();
        assert!(paths.len() > 8);
        for path in paths.keys() {
            let path = path.replace("{proxy}", "nginx");
            assert_ne!(Route::of(&path), Route::Unknown, "{path}");
        }
        let long = "/v1/forward-auth/nginx/secret/path";
        assert_eq!(Route::of(long), Route::Known("/v1/forward-auth/nginx"));
        for path in ["/", "/v1/checks", "/v1/forward-auth/", "/v1/forward-auth/nginxx", "/v1/check/"] {
            assert_eq!(Route::of(path), Route::Unknown, "{path}");
        }
    }
}
