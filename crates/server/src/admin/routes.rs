//! The table of routes. Who is let in, what is described and what is tested all come from it.

use http::{Method, StatusCode};
use tollgate_records::Role;

use super::route::{Handler, Route, Strangers, Values, at_once};
use super::workshop::{change, propose};
use super::{
    audit, buckets, events, history, openapi, orders, playground, reload, rule_set, rules, schema, session,
    simulate, status, tokens, top, versions, violations, whoami,
};
use crate::http::Problem;

/// Every route; where two match a path, the first is meant.
#[rustfmt::skip]
pub(super) static ROUTES: [Route; 40] = [
    get("/admin/openapi.json", Role::Viewer, |call| at_once(openapi::show(&call))),
    get("/admin/v1/whoami", Role::Viewer, |call| at_once(whoami::show(&call))),
    post("/admin/v1/session", Role::Viewer, |call| at_once(session::open(&call))),
    delete("/admin/v1/session", Role::Viewer, |call| at_once(session::close(&call))),
    get("/admin/v1/status", Role::Viewer, |call| at_once(status::show(&call))),
    get("/admin/v1/schema", Role::Viewer, |call| at_once(schema::show(&call))),
    get("/admin/v1/events", Role::Viewer, |call| at_once(events::listen(call))),
    get("/admin/v1/history", Role::Viewer, |call| at_once(history::show(&call))),
    post("/admin/v1/reload", Role::Operator, |call| Box::pin(reload::reload(call))),

    get("/admin/v1/rules", Role::Viewer, |call| at_once(rules::list(&call))),
    post("/admin/v1/rules/validate", Role::Viewer, |call| Box::pin(propose(call, rule_set::validate))),
    post("/admin/v1/rules/diff", Role::Viewer, |call| Box::pin(propose(call, rule_set::diff))),
    post("/admin/v1/rules/apply", Role::Admin, |call| Box::pin(change(call, rule_set::apply))),
    get("/admin/v1/rules/export", Role::Viewer, |call| Box::pin(rule_set::export(call))),
    get("/admin/v1/rules/{name}", Role::Viewer, |call| at_once(rules::show(&call))),
    get("/admin/v1/rules/{name}/text", Role::Viewer, |call| Box::pin(propose(call, rule_set::text))),
    put("/admin/v1/rules/{name}", Role::Admin, |call| Box::pin(change(call, rule_set::put))),
    delete("/admin/v1/rules/{name}", Role::Admin, |call| Box::pin(change(call, rule_set::delete))),
    post("/admin/v1/rules/{name}/activate", Role::Admin, |call| Box::pin(change(call, rule_set::activate))),
    post("/admin/v1/rules/{name}/deactivate", Role::Admin, |call| Box::pin(change(call, rule_set::deactivate))),

    get("/admin/v1/versions", Role::Viewer, |call| Box::pin(versions::list(call))),
    get("/admin/v1/versions/{n}", Role::Viewer, |call| Box::pin(versions::show(call))),
    get("/admin/v1/versions/{n}/diff", Role::Viewer, |call| Box::pin(versions::diff(call))),
    post("/admin/v1/versions/{n}/rollback", Role::Admin, |call| Box::pin(change(call, versions::rollback))),

    get("/admin/v1/buckets", Role::Viewer, |call| Box::pin(buckets::look(call))),
    post("/admin/v1/buckets/reset", Role::Operator, |call| Box::pin(buckets::reset(call))),
    post("/admin/v1/buckets/grant", Role::Operator, |call| Box::pin(buckets::grant(call))),

    get("/admin/v1/orders", Role::Viewer, |call| Box::pin(orders::list(call))),
    post("/admin/v1/orders", Role::Operator, |call| Box::pin(change(call, orders::give))),
    delete("/admin/v1/orders/{id}", Role::Operator, |call| Box::pin(orders::revoke(call))),

    get("/admin/v1/top", Role::Viewer, |call| Box::pin(top::list(call))),
    get("/admin/v1/violations", Role::Viewer, |call| Box::pin(violations::list(call))),
    get("/admin/v1/violations/totals", Role::Viewer, |call| Box::pin(violations::totals(call))),
    get("/admin/v1/violations/export", Role::Viewer, |call| Box::pin(violations::export(call))),
    get("/admin/v1/audit", Role::Viewer, |call| Box::pin(audit::list(call))),
    get("/admin/v1/tokens", Role::Admin, |call| Box::pin(tokens::list(call))),
    post("/admin/v1/tokens", Role::Admin, |call| Box::pin(tokens::create(call))),
    delete("/admin/v1/tokens/{id}", Role::Admin, |call| Box::pin(tokens::revoke(call))),

    get("/admin/v1/playground", Role::Viewer, |call| at_once(playground::show(&call))).and(Strangers::Always),
    post("/admin/v1/simulate", Role::Viewer, |call| Box::pin(simulate::simulate(call))).and(Strangers::InPlayground),
];

const fn get(path: &'static str, role: Role, handler: Handler) -> Route {
    Route { method: Method::GET, path, role, strangers: Strangers::Never, handler }
}

const fn post(path: &'static str, role: Role, handler: Handler) -> Route {
    Route { method: Method::POST, path, role, strangers: Strangers::Never, handler }
}

const fn put(path: &'static str, role: Role, handler: Handler) -> Route {
    Route { method: Method::PUT, path, role, strangers: Strangers::Never, handler }
}

const fn delete(path: &'static str, role: Role, handler: Handler) -> Route {
    Route { method: Method::DELETE, path, role, strangers: Strangers::Never, handler }
}

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
        return Err(Problem::new(StatusCode::NOT_FOUND, detail).because("unknown_path"));
    }
    others.sort_unstable();
    others.dedup();
    Err(Problem::method(others.join(", ")).because("other_method"))
}
