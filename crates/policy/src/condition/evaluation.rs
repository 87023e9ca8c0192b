//! Whether a request meets a condition (P3). The index only spares this work; the answer is always this one.
//!
//! An ambiguous value (see [`crate::value`]) chooses nothing. How a test of one comes out depends on what the rule does:
//!
//! | rule | test | the same test under `not` |
//! |---|---|---|
//! | `block`, block order, kill switch, limit outside of a group | holds if it holds for any value | counts as failed, so `not` holds |
//! | `allow`, allow order, override, tier of a group | fails | counts as met, so `not` fails |
//!
//! So a rule that restricts applies in every case of doubt, and a rule that favors in none. In the upper left field,
//! equality and lists compare byte by byte, `present` holds if the name occurs (even with an empty value; in the lower row neither
//! `present` nor its `not` holds for that), and a regex
//! also matches a value that it cannot read whole: one that is not UTF-8 or has more than [`REGEX_INPUT_BYTES_MAX`] bytes.
//! A regex reads at most so many bytes of all values of a name together, and a regex or network at most [`VALUES_READ_MAX`]
//! values; each matches a value for which none are left. All regexes and globs together read at most
//! [`crate::PATTERNS_READ_BYTES_MAX`] bytes of a request. Beyond that, every regex and glob treats a value as one that it
//! cannot read. Only requests with several forms or values get there: a policy that reads as much of one form is refused.
//! If the token occurs more than once, its claims, and the user and plan that it may name, cannot be read. A restricting rule then
//! matches whatever its tests on them are.
//! A single value that is too long for a regex is ambiguous to that regex alone. `not` in `not` is no `not`.

use std::fmt::Write;
use std::net::IpAddr;
use std::ops::ControlFlow;

use ipnet::IpNet;

use super::path_test;
use super::reading::{Reading, View};
use crate::path::{FormSet, hex_value};
use crate::regex::REGEX_INPUT_BYTES_MAX;
use crate::request::Request;
use crate::value::cookie::{self, CookieReading};
use crate::value::{Found, Lookup, PartKind, RawValue, Scratch, TextRoom, VALUES_READ_MAX, each_value, find};
use crate::{Condition, HostPattern, KeySource, Regex, ValueTest};

/// The longest text of what is found as an address, a network or a hash, in bytes.
const SHORT_TEXT_BYTES_MAX: usize = 64;

/// Whether `condition` holds for the form of the path that `view` names.
pub(crate) fn holds(condition: &Condition, request: &Request<'_>, view: View) -> bool {
    forms_met(condition, request, view, FormSet::of(view.form)) != FormSet::NONE
}

/// The forms of the path, out of `forms`, for which `condition` holds. Evaluates each test at most once; those of paths
/// for each form. As deep as the condition, which the parser bounds.
pub(crate) fn forms_met(condition: &Condition, request: &Request<'_>, view: View, forms: FormSet) -> FormSet {
    let is_met = match condition {
        Condition::Always => true,
        Condition::All(all) => {
            return all.iter().fold(forms, |met, one| match met {
                FormSet::NONE => met,
                met => forms_met(one, request, view, met),
            });
        }
        Condition::Any(any) => {
            let unmet = any.iter().fold(forms, |unmet, one| match unmet {
                FormSet::NONE => unmet,
                unmet => unmet.without(forms_met(one, request, view, unmet)),
            });
            return forms.without(unmet);
        }
        Condition::Not(inner) => {
            return forms.without(forms_met(inner, request, view.negated(), forms));
        }
        Condition::Path(test) => return path_test::forms_met(test, request, forms, view.reading),
        Condition::Method(methods) => methods.meets(request.method),
        Condition::Host(pattern) => request.host().is_some_and(|host| host_matches(pattern, host)),
        Condition::Value(source, test) => value_holds(source, test, request, view),
        Condition::Client(client) => client.is(request, view.reading),
    };
    if is_met { forms } else { FormSet::NONE }
}

fn host_matches(pattern: &HostPattern, host: &str) -> bool {
    match pattern {
        HostPattern::Exact(name) => **name == *host,
        HostPattern::Below(suffix) => host.len() > suffix.len() && host.ends_with(&**suffix),
    }
}

fn value_holds(source: &KeySource, test: &ValueTest, request: &Request<'_>, view: View) -> bool {
    let mut scratch = Scratch::default();
    match find(source, request, view.trusts_upstream, &mut scratch) {
        Lookup::One(found) => passes(&found, test, request, view.reading),
        Lookup::Missing => {
            matches!(test, ValueTest::Present)
                && matches!(view.reading, Reading::Wide | Reading::StrictNegated)
                && occurs(source, request, view)
        }
        Lookup::Encoded(_) | Lookup::Ambiguous(_) => view.reading.of_ambiguous(|| {
            let mut left = Left::of(source);
            any_value(source, request, view, &mut |value| passes_raw(value, test, request, &mut left))
        }),
    }
}

/// Whether the name occurs, if only with an empty value.
fn occurs(source: &KeySource, request: &Request<'_>, view: View) -> bool {
    any_value(source, request, view, &mut |_| true)
}

/// Whether one of the values of a name passes. Looks at no value after it.
fn any_value(
    source: &KeySource,
    request: &Request<'_>,
    view: View,
    passes: &mut dyn FnMut(&RawValue<'_>) -> bool,
) -> bool {
    let mut is_met = false;
    each_value(source, request, view.trusts_upstream, &mut |value| {
        is_met = passes(&value);
        if is_met { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    is_met
}

/// How much one test may still read of all values of a name together, so that many values cost no more time than one.
struct Left {
    values: usize,
    bytes: usize,
}

impl Left {
    /// A cookie has several readings, and a regex reads as many bytes of each.
    fn of(source: &KeySource) -> Left {
        let readings = if matches!(source, KeySource::Cookie(_)) { cookie::READINGS_MAX } else { 1 };
        Left { values: VALUES_READ_MAX, bytes: readings * REGEX_INPUT_BYTES_MAX }
    }

    /// Takes one value off; `None` if none is left.
    fn take_value(&mut self) -> Option<()> {
        self.values = self.values.checked_sub(1)?;
        Some(())
    }

    /// Takes the bytes of a value off; `None` if there are not so many left.
    fn take_bytes(&mut self, bytes: usize) -> Option<()> {
        self.bytes = self.bytes.checked_sub(bytes).filter(|_| bytes <= REGEX_INPUT_BYTES_MAX)?;
        Some(())
    }
}

/// Whether one of several values passes, or cannot be read because too much was read before.
fn passes_raw(value: &RawValue<'_>, test: &ValueTest, request: &Request<'_>, left: &mut Left) -> bool {
    match test {
        _ if matches!(value, RawValue::Unreadable) => true,
        ValueTest::Present => true,
        ValueTest::OneOf(values) => values.iter().any(|wanted| value.is(wanted)),
        ValueTest::Within(_) | ValueTest::Matches(_) if left.take_value().is_none() => true,
        ValueTest::Within(_) => match value.read(&mut Scratch::default()) {
            Lookup::One(found) => passes(&found, test, request, Reading::Wide),
            Lookup::Missing | Lookup::Encoded(_) | Lookup::Ambiguous(_) => false,
        },
        ValueTest::Matches(regex) => match value.read(&mut Scratch::default()) {
            Lookup::One(Found::Text(_, read)) => {
                left.take_bytes(read.len()).is_none() || is_match(regex, read, request).unwrap_or(true)
            }
            Lookup::One(found) => passes(&found, test, request, Reading::Wide),
            Lookup::Missing => false,
            Lookup::Encoded(_) | Lookup::Ambiguous(_) => true,
        },
    }
}

fn passes(found: &Found<'_>, test: &ValueTest, request: &Request<'_>, reading: Reading) -> bool {
    match test {
        ValueTest::Present => true,
        ValueTest::OneOf(values) => values.iter().any(|value| match found {
            Found::Text(PartKind::Cookie, sent) if reading == Reading::Wide => {
                CookieReading::Plain(sent.as_bytes()).is(value)
            }
            found => is_equal(found, value),
        }),
        ValueTest::Within(networks) => networks.iter().any(|network| is_within(found, network)),
        ValueTest::Matches(regex) => {
            let is_match =
                |text: &str| is_match(regex, text, request).unwrap_or_else(|| reading.of_ambiguous(|| true));
            if let Found::Text(_, text) = found {
                return is_match(text);
            }
            let mut bytes = [0; SHORT_TEXT_BYTES_MAX];
            let mut room = TextRoom::new(&mut bytes);
            write!(room, "{found}").is_ok() && room.into_text().is_some_and(is_match)
        }
    }
}

/// Whether a regex or glob matches a text; `None` if it cannot read the text whole: the text is too long, or too much of
/// the request was read before.
pub(super) fn is_match(regex: &Regex, text: &str, request: &Request<'_>) -> Option<bool> {
    let bytes = text.len().min(regex.bytes_read_max());
    let may_read = text.len() <= REGEX_INPUT_BYTES_MAX && request.take_pattern_bytes(bytes);
    may_read.then(|| regex.is_match(text))
}

/// Addresses and networks are equal whatever their spelling.
fn is_equal(found: &Found<'_>, value: &str) -> bool {
    match found {
        Found::Text(_, text) => *text == value,
        Found::Address(_, address) => {
            value.parse().is_ok_and(|value: IpAddr| value.to_canonical() == *address)
        }
        Found::Network(_, network) => value.parse().is_ok_and(|value: IpNet| value.trunc() == *network),
        Found::Digest(digest) => {
            let pairs = value.as_bytes().chunks(2);
            value.len() == 64 && pairs.zip(digest).all(|(pair, byte)| is_hex_of(pair, *byte))
        }
    }
}

/// Whether two hexadecimal digits of either case write this byte.
fn is_hex_of(pair: &[u8], byte: u8) -> bool {
    let digit = |at: usize| pair.get(at).copied().and_then(hex_value);
    digit(0) == Some(byte >> 4) && digit(1) == Some(byte & 15)
}

fn is_within(found: &Found<'_>, network: &IpNet) -> bool {
    match found {
        Found::Address(_, address) => network.contains(address),
        Found::Network(_, inner) => network.contains(inner),
        Found::Text(_, text) => {
            text.parse().is_ok_and(|address: IpAddr| network.contains(&address.to_canonical()))
        }
        Found::Digest(_) => false,
    }
}

#[cfg(test)]
mod ambiguous_tests;
#[cfg(test)]
mod tests;
