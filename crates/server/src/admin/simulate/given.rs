//! What was sent: fields by name, each with its place, and what is wrong with them.

use serde_json::{Map, Value};
use tollgate::policy::{rate_of, span_of};
use tollgate::{Burst, Cost, Rate, Span};

use crate::http::{Problem, shown};

/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 64;
/// A millisecond, in nanoseconds.
const MILLI: f64 = 1_000_000.0;

/// An object, and where it was found; only fields that it may have.
pub(super) struct Given<'v> {
    place: String,
    fields: &'v Map<String, Value>,
}

/// One field that is at fault.
pub(super) fn bad(place: &str, fault: impl std::fmt::Display) -> Problem {
    Problem::field(place, format!("`{place}` {fault}")).because("bad_body")
}

/// What the engine says of a field, at its place: it begins with the field's name as the engine knows it.
pub(super) fn engine_says(place: &str, error: impl std::fmt::Display) -> Problem {
    let said = error.to_string();
    let fault = said.strip_prefix('`').and_then(|said| said.split_once("` ")).map(|(_, fault)| fault);
    bad(place, fault.unwrap_or(&said))
}

impl<'v> Given<'v> {
    /// The object at this place, which has none but these fields.
    pub(super) fn read(place: &str, value: &'v Value, names: &[&str]) -> Result<Given<'v>, Problem> {
        let Some(fields) = value.as_object() else {
            return Err(bad(place, format!("is {}; send an object", found(value))));
        };
        if let Some(unknown) = fields.keys().find(|name| !names.contains(&name.as_str())) {
            let unknown = within(place, &shown(unknown));
            return Err(bad(&unknown, format!("is no field of it; there are: {}", names.join(", "))));
        }
        Ok(Given { place: place.to_owned(), fields })
    }

    /// Where a field of it is.
    pub(super) fn place(&self, name: &str) -> String {
        within(&self.place, name)
    }

    /// Whether a field is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn get(&self, name: &str) -> Option<&'v Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// A field that must be there; `what` it is.
    fn must(&self, name: &str, what: &str) -> Result<&'v Value, Problem> {
        self.get(name).ok_or_else(|| bad(&self.place(name), format!("is missing; give {what}")))
    }

    /// A list of `least` to `most`.
    pub(super) fn list(&self, name: &str, least: usize, most: usize) -> Result<&'v [Value], Problem> {
        let (value, place) = (self.must(name, "a list")?, self.place(name));
        let Some(list) = value.as_array() else {
            return Err(bad(&place, format!("is {}; send a list", found(value))));
        };
        if (least..=most).contains(&list.len()) {
            return Ok(list);
        }
        Err(bad(&place, format!("has {} entries; use {least} to {most}", list.len())))
    }

    /// An object.
    pub(super) fn object(&self, name: &str, names: &[&str]) -> Result<Given<'v>, Problem> {
        Given::read(&self.place(name), self.must(name, "an object")?, names)
    }

    /// One of some words.
    pub(super) fn word(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Problem> {
        let value = self.must(name, &format!("one of {}", words.join(", ")))?;
        let word = value.as_str().and_then(|text| words.iter().copied().find(|word| *word == text));
        let fault = || format!("is {}; use one of {}", found(value), words.join(", "));
        word.ok_or_else(|| bad(&self.place(name), fault()))
    }

    /// A name, if there is one.
    pub(super) fn name(&self) -> Result<Option<String>, Problem> {
        let Some(value) = self.get("name") else { return Ok(None) };
        let text = value.as_str().filter(|text| text.chars().count() <= NAME_CHARS_MAX);
        let fault = || format!("is {}; use text of at most {NAME_CHARS_MAX} characters", found(value));
        text.map(|text| Some(text.to_owned())).ok_or_else(|| bad(&self.place("name"), fault()))
    }

    /// A whole number up to `most`.
    pub(super) fn count(&self, name: &str, most: u64) -> Result<u64, Problem> {
        let value = self.must(name, &format!("a whole number from 0 to {most}"))?;
        let count = value.as_u64().filter(|count| *count <= most);
        let fault = || format!("is {}; use a whole number from 0 to {most}", found(value));
        count.ok_or_else(|| bad(&self.place(name), fault()))
    }

    /// A time in milliseconds up to `most`, rounded to the nanosecond.
    pub(super) fn millis(&self, name: &str, most: Span) -> Result<Span, Problem> {
        let value = self.must(name, "milliseconds, as in 1500")?;
        millis(&self.place(name), value, most)
    }

    /// A rate: policy text, or a number of tokens per second.
    pub(super) fn rate(&self, name: &str) -> Result<Rate, Problem> {
        let (value, place) = (self.must(name, "a rate, as in \"10/s\"")?, self.place(name));
        let rate = match value {
            Value::Number(number) => {
                let per_second = number.as_f64().unwrap_or(f64::NAN);
                return Rate::try_from(per_second).map_err(|error| engine_says(&place, error));
            }
            Value::String(text) => rate_of(text),
            _ => None,
        };
        let cure = "use tokens per second, as in 10, or with a unit, as in \"10/s\", \"600/m\" or \"6/h\"";
        rate.ok_or_else(|| bad(&place, format!("is {}, no rate above 0; {cure}", found(value))))
    }

    /// A length of time: policy text.
    pub(super) fn span(&self, name: &str) -> Result<Span, Problem> {
        let value = self.must(name, "a length of time, as in \"5s\"")?;
        let span = value.as_str().and_then(span_of);
        let fault =
            || format!("is {}, no length of time; use text as in \"500ms\", \"5s\" or \"1m\"", found(value));
        span.ok_or_else(|| bad(&self.place(name), fault()))
    }

    /// So many tokens.
    pub(super) fn tokens(&self, name: &str) -> Result<Burst, Problem> {
        let value = self.must(name, "a number of tokens, as in 50")?;
        let tokens = self.number(name, value)?;
        // What is 0 is refused by whoever is made of it, with a reason.
        if tokens == 0.0 {
            return Ok(Burst::tokens(0));
        }
        Burst::try_from(tokens).map_err(|error| engine_says(&self.place(name), error))
    }

    /// What each request costs: one token unless it is said, and at most so many.
    pub(super) fn cost(&self, most: u64) -> Result<Cost, Problem> {
        let Some(value) = self.get("cost") else { return Ok(Cost::ONE) };
        let place = self.place("cost");
        let cost = Cost::try_from(self.number("cost", value)?).map_err(|error| engine_says(&place, error))?;
        if cost > Cost::tokens(most) {
            return Err(bad(&place, format!("is {value}; use at most {most}")));
        }
        Ok(cost)
    }

    fn number(&self, name: &str, value: &Value) -> Result<f64, Problem> {
        let fault = || format!("is {}; use a number, without quotes", found(value));
        value.as_f64().ok_or_else(|| bad(&self.place(name), fault()))
    }
}

/// A time in milliseconds up to `most`, rounded to the nanosecond.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "from 0 to a day, which a double counts in nanoseconds exactly"
)]
pub(super) fn millis(place: &str, value: &Value, most: Span) -> Result<Span, Problem> {
    let most_nanos = most.as_nanos() as f64;
    let nanos = value.as_f64().map(|millis| (millis * MILLI).round());
    let nanos = nanos.filter(|nanos| (0.0..=most_nanos).contains(nanos));
    let fault =
        || format!("is {}; use a number of milliseconds from 0 to {}", found(value), most_nanos / MILLI);
    nanos.map(|nanos| Span::from_nanos(nanos as u64)).ok_or_else(|| bad(place, fault()))
}

fn within(place: &str, name: &str) -> String {
    if place == BODY { name.to_owned() } else { format!("{place}.{name}") }
}

/// The place of the whole.
pub(super) const BODY: &str = "body";

/// A value as it is shown in an answer.
fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", shown(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}
