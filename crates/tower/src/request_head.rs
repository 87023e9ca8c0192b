//! A request without its body, borrowed.

use http::{Extensions, HeaderMap, Method, Request, Uri, Version};

/// What a request says before its body, and what server and layers have put beside it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RequestHead<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target; inside of a nested router of axum, what is left of it. Rules go by the whole one.
    pub uri: &'a Uri,
    /// The version of HTTP.
    pub version: Version,
    /// The header fields.
    pub headers: &'a HeaderMap,
    /// What server and layers have put beside it.
    pub extensions: &'a Extensions,
}

impl<'a> RequestHead<'a> {
    /// The head of a request.
    pub(crate) fn of<B>(request: &'a Request<B>) -> RequestHead<'a> {
        RequestHead {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}
