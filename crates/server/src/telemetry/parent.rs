//! Which trace a request belongs to: `traceparent` and `tracestate`, as W3C Trace Context has them.
//!
//! What is not to the letter of it is as if it were not there. What is kept of it is bounded.

use http::HeaderMap;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

/// Longest `tracestate` that is taken over, in bytes; what it holds is others' affair.
const STATE_BYTES_MAX: usize = 512;

/// The caller's span, if it says so.
pub(super) fn read(headers: &HeaderMap) -> Option<SpanContext> {
    let (trace, span, flags) = parse(only(headers, "traceparent")?)?;
    let state = only(headers, "tracestate").filter(|state| state.len() <= STATE_BYTES_MAX);
    let state = state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
    let context = SpanContext::new(trace, span, flags, true, state);
    context.is_valid().then_some(context)
}

/// The field's value, unless there are several.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// `00-{trace}-{span}-{flags}`; later versions may have more behind that.
fn parse(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let mut parts = text.split('-');
    let version = hex(parts.next()?, 2)?;
    let trace = hex(parts.next()?, 32)?;
    let span = u64::try_from(hex(parts.next()?, 16)?).ok()?;
    let flags = hex(parts.next()?, 2)?;
    let is_whole = parts.next().is_none();
    // Only the flag of sampling is known to us.
    let flags = if flags & 1 == 1 { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let is_sound = version != 0xff && (version != 0 || is_whole);
    is_sound.then(|| (TraceId::from(trace), SpanId::from(span), flags))
}

/// So many digits, in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_hex = text.len() == digits && text.bytes().all(is_digit);
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn of(fields: &[(&'static str, &str)]) -> Option<SpanContext> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        read(&headers)
    }

    #[test]
    fn a_parent_is_read_with_its_flag_of_sampling() {
        for (flags, is_sampled) in [("01", true), ("00", false), ("03", true), ("02", false)] {
            let parent = of(&[("traceparent", &format!("00-{TRACE}-{SPAN}-{flags}"))]).unwrap();
            assert_eq!(parent.trace_id().to_string(), TRACE);
            assert_eq!(parent.span_id().to_string(), SPAN);
            assert_eq!((parent.is_sampled(), parent.is_remote()), (is_sampled, true));
        }
        assert!(of(&[("traceparent", &format!("01-{TRACE}-{SPAN}-01-later"))]).is_some());
    }

    #[test]
    fn what_is_not_to_the_letter_is_no_parent() {
        let upper = TRACE.to_ascii_uppercase();
        for text in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{upper}-{SPAN}-01"),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            "00-1-1-01".to_owned(),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
        ] {
            assert!(of(&[("traceparent", &text)]).is_none(), "{text}");
        }
        let good = format!("00-{TRACE}-{SPAN}-01");
        assert!(of(&[("traceparent", &good), ("traceparent", &good)]).is_none());
    }

    #[test]
    fn a_state_is_taken_over_unless_it_is_long_or_none() {
        let good = format!("00-{TRACE}-{SPAN}-01");
        let state = |text: &str| {
            let parent = of(&[("traceparent", &good), ("tracestate", text)]).unwrap();
            parent.trace_state().header()
        };
        assert_eq!(state("a=1,b=2"), "a=1,b=2");
        assert_eq!(state(&format!("a={}", "1".repeat(STATE_BYTES_MAX))), "");
        assert_eq!(state("no state"), "");
    }
}
