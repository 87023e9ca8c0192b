//! The answer that a client gets (H1 to H6): status, header fields, body and gRPC status, rendered here for every door.
//!
//! Promises that every figure is true, that no wait is shorter than the verdict's, that a shadow rule is never seen, and that
//! no header value holds anything but printable ASCII. Knows no clock and no socket: names and values are text, but for [`DraftFields`].

mod base64;
mod body;
mod detail;
mod draft_fields;
mod grpc;
mod headers;
mod json;
mod line;
mod outcome;
mod protobuf;
mod reason;
mod retry;
mod rule_text;
mod standing;

use std::time::Duration;

use tollgate_policy::AnswerSettings;

use retry::Retry;

pub use draft_fields::DraftFields;
pub use grpc::GrpcAnswer;
pub use outcome::{Outcome, Refusal, RefusalKind, Violation};
pub(crate) use rule_text::RuleText;
pub use standing::Standing;

/// An outcome about to be told to one client. Cheap to make; renders what it is asked for.
///
/// ```
/// use std::time::Duration;
/// use tollgate::policy::AnswerSettings;
/// use tollgate::{Algorithm, Answering, Burst, Limit, Outcome, Rate, Standing, Tokens};
///
/// let limit = Algorithm::from(Limit::new(Rate::per_second(10), Burst::tokens(50))?);
/// let now = Duration::from_secs(1_700_000_000);
/// let standing = Standing::new("user", "user", &limit, Tokens::from_micros(42_500_000), now);
/// let (settings, outcome) = (AnswerSettings::default(), Outcome::Admitted { tightest: Some(standing) });
/// let mut fields = Vec::new();
/// Answering::new(&settings, outcome, b"ann", now).each_header(|name, value| fields.push(format!("{name}: {value}")));
/// assert_eq!(fields, [r#"RateLimit-Policy: "user";q=50;w=5"#, r#"RateLimit: "user";r=42;t=1"#]);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Answering<'a> {
    settings: &'a AnswerSettings,
    outcome: Outcome<'a>,
    mode: StoreMode,
    /// `None` if it was admitted, or if no wait is known to help.
    retry: Option<Retry>,
    /// Since 1970.
    now: Duration,
}

/// An answer in full, for doors that want it in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// 200 if it was admitted.
    pub status: u16,
    /// Names as they are usually written, and values of printable ASCII.
    pub headers: Vec<(Box<str>, Box<str>)>,
    /// Its media type, and the text; none if it was admitted.
    pub body: Option<(&'static str, String)>,
}

/// What the verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreMode {
    /// The store of record.
    #[default]
    Exact,
    /// A prepaid slice of the shared bucket.
    Leased,
    /// This node alone, since the store did not answer.
    Fallback,
}

impl<'a> Answering<'a> {
    /// What to tell the client whom `client` identifies, in whatever bytes: they decide its jitter and nothing else, and the
    /// same bytes always give the same. `now` is the time since 1970.
    pub fn new(
        settings: &'a AnswerSettings,
        outcome: Outcome<'a>,
        client: &[u8],
        now: Duration,
    ) -> Answering<'a> {
        let outcome = outcome.without_shadows();
        let retry = outcome.wait().map(|wait| Retry::new(wait, settings.jitter_percent, client));
        Answering { settings, outcome, mode: StoreMode::Exact, retry, now }
    }

    /// The same for a verdict that rests on something else than the store of record.
    #[must_use]
    pub const fn in_mode(self, mode: StoreMode) -> Answering<'a> {
        Answering { mode, ..self }
    }

    /// Upon what the verdict rests.
    pub const fn mode(&self) -> StoreMode {
        self.mode
    }

    /// 200 admitted, 429 denied, 403 blocked or without a key, 503 killed or without a store.
    pub const fn status(&self) -> u16 {
        self.outcome.status()
    }

    /// Why it was not admitted, in one word for machines; `None` if it was.
    pub fn reason(&self) -> Option<&'a str> {
        self.outcome.reason()
    }

    /// What `Retry-After` says: whole seconds, at least 1 and never less than the wait. `None` if it was admitted, or if no
    /// wait is known to help.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.retry.map(|retry| retry.seconds())
    }

    /// The exact wait in milliseconds, rounded up; `None` if it was admitted, or if no wait is known to help.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.retry.map(|retry| retry.exact_ms())
    }

    /// Shows each header field to `visit`. Of an admitted check nothing is allocated.
    pub fn each_header(&self, visit: impl FnMut(&str, &str)) {
        headers::each(self, visit);
    }

    /// The media type and the text of the body; `None` if it was admitted.
    pub fn body(&self) -> Option<(&'static str, String)> {
        body::render(self)
    }

    /// The body as RFC 9457 has it, whatever profile the policy prefers: for programs that rely on its members. `None` if it
    /// was admitted.
    pub fn problem(&self) -> Option<String> {
        body::problem_of(self)
    }

    /// The bucket that the answer tells of: of an admitted check the tightest, of a denial the one to wait for longest.
    pub fn standing(&self) -> Option<Standing<'a>> {
        self.outcome.standing()
    }

    /// Every rule that denied, enforced ones alone; the one to wait for longest is among them.
    pub fn violated(&self) -> impl Iterator<Item = &'a Violation<'a>> + use<'a> {
        self.outcome.violated()
    }

    /// Everything at once.
    pub fn render(&self) -> Answer {
        let mut headers = Vec::new();
        self.each_header(|name, value| headers.push((name.into(), value.into())));
        Answer { status: self.status(), headers, body: self.body() }
    }

    /// What a gRPC client is told; `None` if it was admitted.
    pub fn grpc(&self) -> Option<GrpcAnswer> {
        GrpcAnswer::of(self)
    }
}

impl StoreMode {
    /// How answers spell it.
    pub const fn name(self) -> &'static str {
        match self {
            StoreMode::Exact => "exact",
            StoreMode::Leased => "leased",
            StoreMode::Fallback => "fallback",
        }
    }
}
