//! The answer to a denied request: over HTTP as the policy says, to gRPC clients as a status (H1, H6).

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response, StatusCode};
use tollgate::{Answering, Decision, PolicyLimiter};

use crate::RequestHead;
use crate::fields::Fields;

/// The response to a denied request. `grpc` is the content type of a gRPC call, `None` of other requests.
pub(crate) fn denial(
    limiter: &PolicyLimiter,
    decision: &Decision,
    grpc: Option<&HeaderValue>,
) -> Response<Bytes> {
    limiter.answer(decision, |answering| match grpc {
        Some(content_type) => to_grpc(&answering, content_type),
        None => to_http(&answering),
    })
}

/// The content type of a gRPC call, which is always a POST; `None` of other requests.
pub(crate) fn grpc_type(request: RequestHead<'_>) -> Option<&HeaderValue> {
    let content_type = request.headers.get(CONTENT_TYPE).filter(|_| request.method == Method::POST)?;
    let start = content_type.as_bytes().get(.."application/grpc".len())?;
    start.eq_ignore_ascii_case(b"application/grpc").then_some(content_type)
}

fn to_http(answering: &Answering<'_>) -> Response<Bytes> {
    let (content_type, text) = answering.body().unwrap_or_default();
    let mut response = Response::new(Bytes::from(text));
    // Whatever the answer says, what was not let through has not succeeded.
    let status = StatusCode::from_u16(answering.status()).ok().filter(|status| !status.is_success());
    *response.status_mut() = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    fields_of(answering).write_to(response.headers_mut());
    if !content_type.is_empty() {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    response
}

/// A response that is nothing but trailers, which gRPC sends as header fields.
fn to_grpc(answering: &Answering<'_>, content_type: &HeaderValue) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let mut fields = fields_of(answering);
    if let Some(status) = answering.grpc() {
        status.each_header(|name, value| fields.push(name, value));
    }
    fields.write_to(response.headers_mut());
    response.headers_mut().insert(CONTENT_TYPE, content_type.clone());
    response
}

fn fields_of(answering: &Answering<'_>) -> Fields {
    let mut fields = Fields::default();
    answering.each_header(|name, value| fields.push(name, value));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_by_its_method_and_how_its_content_type_starts() {
        let check = |method: Method, content_type: &str| {
            let request = http::Request::builder().method(method).header(CONTENT_TYPE, content_type);
            grpc_type(RequestHead::of(&request.body(()).unwrap())).is_some()
        };
        for grpc in ["application/grpc", "application/grpc+proto", "Application/gRPC-web"] {
            assert!(check(Method::POST, grpc) && !check(Method::GET, grpc), "{grpc}");
        }
        for other in ["application/json", "application/gr", ""] {
            assert!(!check(Method::POST, other), "{other}");
        }
    }
}
