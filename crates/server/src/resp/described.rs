//! A request as `TOLLGATE.CHECK` describes it: fields and values, in any order.
//!
//! Promises that every field is known, given once and of its kind. What the texts mean is the policy's to say, through the same
//! code as the facts of `POST /v1/check`.

use super::args::Args;
use super::described_error::DescribedError;

/// Most header fields of a request; as many as over HTTP.
const HEADERS_MAX: usize = 128;
/// What a field begins with that stands for a header field.
const HEADER: &str = "header:";

/// A described request: the facts that a policy looks at, and how the check is meant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Described<'a> {
    /// `GET` unless it is given.
    pub method: Option<&'a str>,
    /// With its query; `/` unless it is given.
    pub path: Option<&'a str>,
    /// Where the request was sent to.
    pub host: Option<&'a str>,
    /// The client's address.
    pub ip: Option<&'a str>,
    /// Who is logged in.
    pub user: Option<&'a str>,
    /// The user's plan.
    pub plan: Option<&'a str>,
    /// What it costs, in tokens, where a rule looks for a cost in the request.
    pub cost: Option<f64>,
    /// Names and values, in the order they were given; at most 128. A name may stand several times.
    pub headers: Vec<(&'a str, &'a str)>,
    /// Whether nothing is to be spent.
    pub is_peek: bool,
    /// A retry with the same key costs nothing.
    pub idempotency_key: Option<&'a str>,
}

impl<'a> Described<'a> {
    /// Reads the arguments behind the command's name.
    pub(super) fn read(args: &Args<'a, '_>) -> Result<Described<'a>, DescribedError<'a>> {
        let mut request = Described::default();
        let (mut cost, mut peek) = (None, None);
        let mut words = args.behind_the_name().ok_or(DescribedError::TooManyFields)?;
        while let Some(typed) = words.next() {
            let Some(value) = words.next() else { return Err(DescribedError::NoValue(typed)) };
            if let Some(name) = header_name(typed) {
                let (name, value) = (text(typed, name)?, text(typed, value)?);
                match request.headers.len() {
                    _ if name.is_empty() => return Err(DescribedError::NamelessHeader),
                    HEADERS_MAX.. => return Err(DescribedError::TooManyHeaders { most: HEADERS_MAX }),
                    _ => request.headers.push((name, value)),
                }
                continue;
            }
            let slot = match typed.to_ascii_lowercase().as_slice() {
                b"method" => &mut request.method,
                b"path" => &mut request.path,
                b"host" => &mut request.host,
                b"ip" => &mut request.ip,
                b"user" => &mut request.user,
                b"plan" => &mut request.plan,
                b"cost" => &mut cost,
                b"peek" => &mut peek,
                b"idempotency_key" => &mut request.idempotency_key,
                b"key" | b"rate" | b"burst" | b"buckets" => return Err(DescribedError::Explicit(typed)),
                _ => return Err(DescribedError::Unknown(typed)),
            };
            if slot.replace(text(typed, value)?).is_some() {
                return Err(DescribedError::Twice(typed));
            }
        }
        request.cost =
            cost.map(|text| text.parse().map_err(|_| DescribedError::NoNumber(text))).transpose()?;
        request.is_peek = match peek {
            None | Some("0") => false,
            Some("1") => true,
            Some(text) => return Err(DescribedError::NoSwitch(text)),
        };
        Ok(request)
    }
}

/// What follows `header:`, in whatever case that is written.
fn header_name(typed: &[u8]) -> Option<&[u8]> {
    let (prefix, name) = typed.split_at_checked(HEADER.len())?;
    prefix.eq_ignore_ascii_case(HEADER.as_bytes()).then_some(name)
}

fn text<'a>(field: &'a [u8], bytes: &'a [u8]) -> Result<&'a str, DescribedError<'a>> {
    str::from_utf8(bytes).map_err(|_| DescribedError::NotText(field))
}
