//! What a check is told: status, fields and JSON.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use tollgate::{Answering, Span, Standing, StoreMode};

use super::fields::Fields;
use super::problem::Problem;
use super::{Reply, ReplyBody, STATUS_FIELD};

/// What a check is told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(super) status: u16,
    pub(super) fields: Fields,
    /// An object.
    pub(super) json: String,
}

/// How an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As a response of its own, with header fields.
    Alone,
    /// In a list, without them.
    InBatch,
}

impl Told {
    /// What is to be told of a decided check. `standing` is the bucket that an admission tells of, where the answer does not
    /// know it, and `delay` how long the admitted request is to wait.
    pub(crate) fn of(
        answering: &Answering<'_>,
        standing: Option<Standing<'_>>,
        delay: Span,
        form: Form,
    ) -> Told {
        let mut fields = Fields::default();
        if form == Form::Alone {
            answering.each_header(|name, value| fields.push(name, value));
        }
        let json = match answering.problem() {
            Some(problem) => problem,
            None => admitted(answering.standing().or(standing), delay, answering.mode(), form),
        };
        Told { status: answering.status(), fields, json }
    }

    /// An answer that is no verdict.
    pub(super) fn done(json: String) -> Told {
        Told { status: 200, fields: Fields::default(), json }
    }

    /// Adds a member to the object. The value is JSON.
    pub(super) fn with(mut self, name: &str, value: &str) -> Told {
        if self.json.pop() == Some('}') {
            for part in [",\"", name, "\":", value, "}"] {
                self.json.push_str(part);
            }
        }
        self
    }

    /// The status that is told: 200 whatever was decided, if that was asked for.
    pub(super) fn shown_status(&self, always_200: bool) -> StatusCode {
        if always_200 {
            return StatusCode::OK;
        }
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
    }

    /// The media type of the object.
    pub(super) fn media(&self) -> &'static str {
        if self.status == 200 { "application/json" } else { Problem::MEDIA }
    }

    /// As a response; of status 200 whatever was decided, if that was asked for.
    pub(crate) fn reply(self, always_200: bool) -> Reply {
        let (status, media) = (self.shown_status(always_200), self.media());
        let decided = self.shown_status(false);
        let mut reply = Response::new(ReplyBody::from(Bytes::from(self.json)));
        *reply.headers_mut() = self.fields.header();
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
        if status != decided {
            reply.headers_mut().insert(STATUS_FIELD, HeaderValue::from(decided.as_u16()));
        }
        *reply.status_mut() = status;
        reply
    }
}

/// `{"admitted": true, …}`; the figures are left out if no rule had a say.
fn admitted(standing: Option<Standing<'_>>, delay: Span, mode: StoreMode, form: Form) -> String {
    let mut json = String::with_capacity(128);
    let mut digits = itoa::Buffer::new();
    json.push('{');
    if form == Form::InBatch {
        json.push_str("\"status\":200,");
    }
    json.push_str("\"admitted\":true");
    let mut number = |name: &str, value: u64| {
        for part in [",\"", name, "\":", digits.format(value)] {
            json.push_str(part);
        }
    };
    if let Some(standing) = standing {
        number("limit", standing.quota());
        number("remaining", standing.remaining());
        if let Some(full_in) = standing.full_in() {
            number("reset_after_ms", millis_up(full_in));
        }
    }
    if delay != Span::ZERO {
        number("delay_ms", millis_up(delay));
    }
    for part in [",\"mode\":\"", mode.name(), "\"}"] {
        json.push_str(part);
    }
    json
}

/// Whole milliseconds, rounded up.
pub(crate) const fn millis_up(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000_000)
}

/// A response of status 200.
pub(crate) fn text(media: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(ReplyBody::from(text.into()));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    reply
}
