//! The answer to a denied request: over HTTP as the policy says, to gRPC clients as a status (H1, H6).

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use tollgate::{Answering, Decision, PolicyLimiter};

use crate::body::ResponseBody;
use crate::fields::Fields;

/// What an admitted client is told.
pub(crate) fn fields(limiter: &PolicyLimiter, decision: &Decision) -> Fields {
    limiter.answer(decision, |answering| fields_of(&answering))
}

/// The response to a denied request. `grpc` is the content type of a gRPC call, `None` of other requests.
pub(crate) fn denial<B>(
    limiter: &PolicyLimiter,
    decision: &Decision,
    grpc: Option<&HeaderValue>,
) -> Response<ResponseBody<B>> {
    limiter.answer(decision, |answering| match grpc {
        Some(content_type) => to_grpc(&answering, content_type),
        None => to_http(&answering),
    })
}

/// Whether a content type is one of gRPC.
pub(crate) fn is_grpc(content_type: &HeaderValue) -> bool {
    let start = content_type.as_bytes().get(.."application/grpc".len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(b"application/grpc"))
}

fn to_http<B>(answering: &Answering<'_>) -> Response<ResponseBody<B>> {
    let (content_type, text) = answering.body().unwrap_or_default();
    let mut response = Response::new(ResponseBody::of_denial(Bytes::from(text)));
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
fn to_grpc<B>(answering: &Answering<'_>, content_type: &HeaderValue) -> Response<ResponseBody<B>> {
    let mut response = Response::new(ResponseBody::of_denial(Bytes::new()));
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
    fn grpc_is_told_by_how_the_content_type_starts() {
        let check = |text| is_grpc(&HeaderValue::from_static(text));
        assert!(
            check("application/grpc") && check("application/grpc+proto") && check("Application/gRPC-web")
        );
        assert!(!check("application/json") && !check("application/gr") && !check(""));
    }
}
