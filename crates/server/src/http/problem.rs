//! What is wrong with a request to the API, as a problem document (RFC 9457) that names the field and the cure.

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{HEAD_BYTES_MAX, HEAD_FIELDS_MAX, Reply, STATUS_FIELD, answer};

/// Longest value of a request that is shown in an answer, in characters.
const SHOWN_CHARS_MAX: usize = 64;
/// The type of every 503 (H5).
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// A request that is answered by an error.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// What is at fault, if it is one field.
    field: Option<String>,
    detail: String,
    /// One more field, in lower case.
    pub(super) header: Option<(&'static str, Cow<'static, str>)>,
    /// Why, in a word that programs know.
    reason: Option<&'static str>,
    /// Further members of the document.
    more: Option<Box<Map<String, Value>>>,
}

#[derive(Serialize)]
struct Document<'p> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(flatten)]
    more: Option<&'p Map<String, Value>>,
}

impl Problem {
    /// The media type of the document.
    pub(crate) const MEDIA: &str = "application/problem+json";

    pub(crate) fn new(status: StatusCode, detail: String) -> Problem {
        Problem { status, field: None, detail, header: None, reason: None, more: None }
    }

    /// 400: the whole is no use.
    pub(crate) fn bad(detail: String) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 400: one field is at fault.
    pub(crate) fn field(field: impl Into<String>, detail: String) -> Problem {
        Problem { field: Some(field.into()), ..Problem::bad(detail) }
    }

    /// 404: nothing is there.
    pub(super) fn not_found() -> Problem {
        let detail = "there is nothing at this path; /openapi.json lists what there is".to_owned();
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    /// 404: there is nothing of this name.
    pub(crate) fn unknown(field: &str, detail: String) -> Problem {
        Problem { field: Some(field.to_owned()), ..Problem::new(StatusCode::NOT_FOUND, detail) }
    }

    /// 405: the path is for other methods.
    pub(crate) fn method(allowed: impl Into<Cow<'static, str>>) -> Problem {
        let allowed = allowed.into();
        let detail = format!("this path takes {allowed}; use that method");
        let header = Some(("allow", allowed));
        Problem { header, ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// 408: the body did not come in time.
    pub(super) fn too_slow(limit: Duration) -> Problem {
        let detail = format!("the body took longer than {} ms; send it at once", limit.as_millis());
        let header = Some(("connection", "close".into()));
        Problem { header, ..Problem::new(StatusCode::REQUEST_TIMEOUT, detail) }
    }

    /// 408: the head did not come in time.
    pub(super) fn head_too_slow(limit: Duration) -> Problem {
        let detail = format!("the head took longer than {} ms; send it at once", limit.as_millis());
        Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
    }

    /// 413: the body is longer than it may be.
    pub(super) fn too_large(bytes_max: usize) -> Problem {
        let detail = format!("the body is longer than {bytes_max} bytes; send less at a time");
        let header = Some(("connection", "close".into()));
        Problem { header, ..Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail) }
    }

    /// 431: the head is longer than it may be, or has too many fields.
    pub(super) fn head_too_large() -> Problem {
        let detail = format!(
            "the head is longer than {HEAD_BYTES_MAX} bytes, or has more than {HEAD_FIELDS_MAX} fields; send fewer or shorter ones"
        );
        Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail)
    }

    /// 503: not now.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Problem {
        let header = Some(("retry-after", "1".into()));
        Problem { header, ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail.into()) }
    }

    /// 503: there is no room for the body, of which there is so much for all clients together.
    pub(super) fn no_room() -> Problem {
        Problem::unavailable(
            "too many bodies are being received at this moment; send it again, or send less at a time",
        )
    }

    /// The same with another status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Problem {
        self.status = status;
        self
    }

    /// The same with a word that programs know.
    pub(crate) fn because(mut self, reason: &'static str) -> Problem {
        self.reason = Some(reason);
        self
    }

    /// The same with a header field, whose name is in lower case.
    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Problem {
        self.header = Some((name, value.into()));
        self
    }

    /// The same with one more member of the document.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.more.get_or_insert_default().insert(name.to_owned(), value.into());
        self
    }

    /// What is wrong, in words that name the field and the cure.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The document.
    pub(super) fn json(&self) -> String {
        let document = Document {
            r#type: match self.status {
                StatusCode::SERVICE_UNAVAILABLE => REDUCED_CAPACITY,
                _ => "about:blank",
            },
            title: self.status.canonical_reason().unwrap_or_default(),
            status: self.status.as_u16(),
            detail: &self.detail,
            field: self.field.as_deref(),
            reason: self.reason,
            more: self.more.as_deref(),
        };
        // Texts and a number: nothing in it can fail to be written.
        serde_json::to_string(&document).unwrap_or_default()
    }

    pub(crate) fn reply(self) -> Reply {
        let mut reply = answer::text(Problem::MEDIA, self.json());
        *reply.status_mut() = self.status;
        if let Some((name, value)) = &self.header
            && let Ok(value) = HeaderValue::from_str(value)
        {
            reply.headers_mut().insert(*name, value);
        }
        reply
    }

    /// As the last answer of a connection of HTTP/1.1, where no request is there to be answered.
    pub(super) fn raw(&self) -> String {
        let json = self.json();
        let (status, title) = (self.status.as_u16(), self.status.canonical_reason().unwrap_or_default());
        format!(
            "HTTP/1.1 {status} {title}\r\ncontent-type: application/problem+json\r\n{STATUS_FIELD}: {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{json}",
            json.len()
        )
    }

    /// The same in a list: `place` is where it was found, as in `buckets[3]`.
    pub(super) fn within(mut self, place: &str) -> Problem {
        self.field = Some(match self.field {
            Some(field) => format!("{place}.{field}"),
            None => place.to_owned(),
        });
        self.detail = format!("{place}: {}", self.detail);
        self
    }
}

/// A value of a request as it is shown in an answer: cut off if it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
