//! The table of routes. Who is let in, what is described and what is tested all come from it.

use http::Method;

use super::role::Role;
use super::route::{Route, Values};
use super::{events, openapi, reload, rules, status, whoami};
use crate::http::Problem;

/// Every route; where two match a path, the first is meant.
pub(super) static ROUTES: [Route; 7] = [
    Route {
        method: Method::GET,
        path: "/admin/openapi.json",
        role: Role::Viewer,
        handler: |call| Box::pin(openapi::show(call)),
    },
    Route {
        method: Method::GET,
        path: "/admin/v1/whoami",
        role: Role::Viewer,
        handler: |call| Box::pin(whoami::show(call)),
    },
    Route {
        method: Method::GET,
        path: "/admin/v1/status",
        role: Role::Viewer,
        handler: |call| Box::pin(status::show(call)),
    },
    Route {
        method: Method::GET,
        path: "/admin/v1/rules",
        role: Role::Viewer,
        handler: |call| Box::pin(rules::list(call)),
    },
    Route {
        method: Method::GET,
        path: "/admin/v1/rules/{name}",
        role: Role::Viewer,
        handler: |call| Box::pin(rules::show(call)),
    },
    Route {
        method: Method::GET,
        path: "/admin/v1/events",
        role: Role::Viewer,
        handler: |call| Box::pin(events::listen(call)),
    },
    Route {
        method: Method::POST,
        path: "/admin/v1/reload",
        role: Role::Operator,
        handler: |call| Box::pin(reload::reload(call)),
    },
];

/// The route of a request, and the values in its path.
pub(super) fn find(method: &Method, path: &str) -> Result<(&'static Route, Values), Problem> {
    // Whoever wants to know how long the answer is.
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let mut others: Vec<&str> = Vec::new();
    for route in &ROUTES {
        let Some(values) = route.values(path) else { continue };
        if route.method == method {
            return Ok((route, values));
        }
        others.push(route.method.as_str());
        if route.method == Method::GET {
            others.push("HEAD");
        }
    }
    if others.is_empty() {
        let detail = "there is nothing at this path; /admin/openapi.json lists what there is".to_owned();
        return Err(Problem::new(http::StatusCode::NOT_FOUND, detail));
    }
    others.sort_unstable();
    others.dedup();
    Err(Problem::method(others.join(", ")))
}
