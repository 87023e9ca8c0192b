//! The span of one request at the HTTP door.

use std::borrow::Cow;
use std::future::Future;

use http::{Request, Response, StatusCode};
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::Span;

use super::noted::{Noted, noting};
use super::route::{Route, method_name};
use super::{Telemetry, parent};

/// The route whose requests are many checks.
const BATCH: &str = "/v1/check/batch";

impl Telemetry {
    /// Answers a request, and makes a span of it if it is to be traced. A request that is given up has a span without a status.
    pub(crate) async fn traced<I, O, F>(
        &self,
        request: Request<I>,
        answer: impl FnOnce(Request<I>) -> F,
    ) -> Response<O>
    where
        F: Future<Output = Response<O>>,
    {
        let route = Route::of(request.uri().path());
        let Some(mut span) = self.span(route, &request) else { return answer(request).await };
        let (reply, noted) = noting(answer(request)).await;
        tell(&mut span, route, reply.status(), noted);
        span.end();
        reply
    }

    /// A span of the request, if it is traced.
    fn span<I>(&self, route: Route, request: &Request<I>) -> Option<Span> {
        let method = method_name(request.method());
        let mut attributes = Vec::with_capacity(6);
        attributes.push(KeyValue::new("http.request.method", method));
        let name = match route {
            Route::Untraced => return None,
            Route::Known(route) => {
                attributes.push(KeyValue::new("http.route", route));
                route
            }
            Route::Unknown if method == "_OTHER" => "HTTP",
            Route::Unknown => method,
        };
        let parent = self.takes_parents.then(|| parent::read(request.headers())).flatten();
        let context = match parent {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
        let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Server).with_attributes(attributes);
        let span = self.tracer.build_with_context(builder, &context);
        span.is_recording().then_some(span)
    }
}

/// Says in a span what became of its request.
fn tell(span: &mut Span, route: Route, status: StatusCode, noted: Noted) {
    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    if status.is_server_error() {
        span.set_attribute(KeyValue::new("error.type", status.as_str().to_owned()));
        span.set_status(Status::Error { description: Cow::Borrowed("") });
    }
    let Noted { first, admitted, denied } = noted;
    let Some((verdict, rule)) = first else { return };
    if route == Route::Known(BATCH) {
        let whole = |count| i64::try_from(count).unwrap_or(i64::MAX);
        span.set_attribute(KeyValue::new("tollgate.checks.admitted", whole(admitted)));
        span.set_attribute(KeyValue::new("tollgate.checks.denied", whole(denied)));
    } else {
        span.set_attribute(KeyValue::new("tollgate.verdict", verdict));
        span.set_attribute(KeyValue::new("tollgate.rule", String::from(rule)));
    }
}
