//! One route: which method and path it is for, whom it takes, and who answers.

use std::future::{Future, ready};
use std::pin::Pin;

use http::Method;
use percent_encoding::percent_decode_str;
use tollgate_records::Role;

use super::call::Call;
use crate::http::{Problem, Reply};
use crate::settings::Playground;

/// The answer in the making.
type Answering = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// Who answers.
pub(super) type Handler = fn(Call) -> Answering;

/// A route. There is no other way to make one than to say all of this.
pub(super) struct Route {
    pub(super) method: Method,
    /// Segments; one in braces is a value, as in `/rules/{name}`.
    pub(super) path: &'static str,
    /// Who may ask, at least, of those who hold a token.
    pub(super) role: Role,
    /// Whether somebody without one may ask as well.
    pub(super) strangers: Strangers,
    pub(super) handler: Handler,
}

/// Whether a route takes those who say nothing of who they are. A token that is no good is refused all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strangers {
    Never,
    /// Where the playground is open.
    InPlayground,
    Always,
}

impl Strangers {
    /// As the description of the API has it.
    #[cfg(test)]
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Strangers::Never => "never",
            Strangers::InPlayground => "where the playground is open",
            Strangers::Always => "always",
        }
    }

    /// Whether they may ask, with this playground.
    pub(super) fn are_welcome(self, playground: Playground) -> bool {
        match self {
            Strangers::Never => false,
            Strangers::InPlayground => playground == Playground::Open,
            Strangers::Always => true,
        }
    }
}

/// The answer of who waits for nobody.
pub(super) fn at_once(answer: Result<Reply, Problem>) -> Answering {
    Box::pin(ready(answer))
}

/// The values of a path, by the names in the route.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Values(Vec<(&'static str, String)>);

impl Route {
    /// The same, open to strangers as well.
    pub(super) const fn and(mut self, strangers: Strangers) -> Route {
        self.strangers = strangers;
        self
    }

    /// The values, if the path is this route's: each is text that was percent-decoded, and may hold anything.
    pub(super) fn values(&self, path: &str) -> Option<Values> {
        let (mut route, mut asked) = (self.path.split('/'), path.split('/'));
        let mut values = Values::default();
        loop {
            match (route.next(), asked.next()) {
                (None, None) => return Some(values),
                (Some(of_route), Some(of_path)) => match name_of(of_route) {
                    Some(name) if !of_path.is_empty() => {
                        let decoded = percent_decode_str(of_path).decode_utf8().ok()?;
                        // Nothing on record has a NUL byte, and not every database can be asked for one.
                        if decoded.contains('\0') {
                            return None;
                        }
                        values.0.push((name, decoded.into_owned()));
                    }
                    None if of_route == of_path => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
}

impl Values {
    /// The value of this name; empty if the route has none such.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }
}

/// The name in braces.
fn name_of(segment: &'static str) -> Option<&'static str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_routes_if_every_segment_is() {
        let route = Route {
            method: Method::GET,
            path: "/admin/v1/rules/{name}/diff",
            role: Role::Viewer,
            strangers: Strangers::Never,
            handler: |_| Box::pin(async { Err(Problem::bad(String::new())) }),
        };
        let name = |path: &str| route.values(path).map(|values| values.get("name").to_owned());
        assert_eq!(name("/admin/v1/rules/a/diff").as_deref(), Some("a"));
        assert_eq!(name("/admin/v1/rules/a%2Fb%20%27%22%0A/diff").as_deref(), Some("a/b '\"\n"));
        for path in [
            "/admin/v1/rules/a",
            "/admin/v1/rules//diff",
            "/admin/v1/rules/a/diff/",
            "/admin/v1/rules/a/b/diff",
            "/admin/v1/rules/%ff/diff",
            "/admin/v1/rules/a%00/diff",
            "//admin/v1/rules/a/diff",
        ] {
            assert_eq!(name(path), None, "{path}");
        }
    }
}
