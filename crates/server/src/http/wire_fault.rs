//! What is wrong with a body that is not what it should be: the field, what was found, and the cure.
//!
//! Only looked at when a body was refused; a good one is read once.

use serde::Deserialize;
use serde_json::Value;

use super::problem::{Problem, shown};
use super::wire::Object;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Whole,
    Boolean,
    Fields,
    Objects,
    Numbers,
}

/// Every field of every body.
const FIELDS: [(&str, Kind); 18] = [
    ("key", Kind::Text),
    ("rate", Kind::Number),
    ("burst", Kind::Number),
    ("cost", Kind::Number),
    ("buckets", Kind::Objects),
    ("method", Kind::Text),
    ("path", Kind::Text),
    ("host", Kind::Text),
    ("ip", Kind::Text),
    ("headers", Kind::Fields),
    ("user", Kind::Text),
    ("plan", Kind::Text),
    ("peek", Kind::Boolean),
    ("idempotency_key", Kind::Text),
    ("timeout_ms", Kind::Whole),
    ("checks", Kind::Objects),
    ("reservation", Kind::Text),
    ("costs", Kind::Numbers),
];

/// Reads a body, or says what is wrong with it.
pub(super) fn read<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, Problem> {
    read_piece(body, "the body")
}

/// Reads an object that is a body or a piece of one, which is called `what` if the whole of it is wrong.
pub(super) fn read_piece<'b, T: Deserialize<'b>>(piece: &'b [u8], what: &str) -> Result<T, Problem> {
    match serde_json::from_slice(piece) {
        Ok(Object(read)) => Ok(read),
        Err(error) => Err(explain(piece, what, &error)),
    }
}

#[cold]
fn explain(piece: &[u8], what: &str, error: &serde_json::Error) -> Problem {
    let Ok(value) = serde_json::from_slice::<Value>(piece) else {
        let fault = if piece.is_empty() { "is empty".to_owned() } else { format!("is no JSON: {error}") };
        return Problem::bad(format!("{what} {fault}; send a JSON object"));
    };
    if !value.is_object() {
        return Problem::bad(format!("{what} is {}; send a JSON object", found(&value)));
    }
    if let Some(problem) = misfit(&value, "") {
        return problem;
    }
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(&*said, |(said, _)| said);
    match named(said) {
        Some((field, said)) => Problem::field(field, said),
        // A field that is given twice hides what it was the first time.
        None => Problem::bad(format!("{what} does not fit: {}; give every field once", shown(said))),
    }
}

/// The field that an error is about, and the error: with the name cut off if it is long, since it is the client's. None if it says none.
fn named(said: &str) -> Option<(String, String)> {
    let unknown = said.strip_prefix("unknown field `").and_then(|rest| rest.rsplit_once("`, expected "));
    if let Some((name, expected)) = unknown {
        let name = if name.is_empty() { "\"\"".to_owned() } else { shown(name) };
        let said = format!("unknown field `{name}`, expected {expected}");
        return Some((name, said));
    }
    // What we say ourselves begins with the field.
    let names = ["missing field `", "duplicate field `", "`"];
    let (field, _) = names.iter().find_map(|before| said.strip_prefix(before))?.split_once('`')?;
    let cure = match said {
        _ if said.starts_with("duplicate") => "; give it once",
        _ if said.starts_with("missing") => "; give it",
        _ => "",
    };
    Some((field.to_owned(), format!("{said}{cure}")))
}

/// The first field that holds something else than it should.
fn misfit(value: &Value, place: &str) -> Option<Problem> {
    let object = value.as_object()?;
    for (name, value) in object {
        let Some((_, kind)) = FIELDS.iter().find(|(field, _)| field == name) else { continue };
        let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        if !fits(value, *kind) {
            let detail = format!("`{place}` is {}; use {}", found(value), wanted(*kind));
            return Some(Problem::field(place, detail));
        }
        let inner = value.as_array().into_iter().flatten().enumerate();
        let inner = inner.filter(|_| *kind == Kind::Objects);
        if let Some(problem) =
            inner.into_iter().find_map(|(at, value)| misfit(value, &format!("{place}[{at}]")))
        {
            return Some(problem);
        }
    }
    None
}

fn fits(value: &Value, kind: Kind) -> bool {
    let all = |is_one: fn(&Value) -> bool| value.as_array().is_some_and(|values| values.iter().all(is_one));
    value.is_null()
        || match kind {
            Kind::Text => value.is_string(),
            Kind::Number => value.is_number(),
            Kind::Whole => value.is_u64(),
            Kind::Boolean => value.is_boolean(),
            Kind::Fields => value.as_object().is_some_and(|fields| fields.values().all(is_field)),
            Kind::Objects => all(Value::is_object),
            Kind::Numbers => all(Value::is_number),
        }
}

/// Whether it is the value of a header field, or several.
fn is_field(value: &Value) -> bool {
    value.is_string() || value.as_array().is_some_and(|values| values.iter().all(Value::is_string))
}

const fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text, in quotes",
        Kind::Number => "a number, without quotes",
        Kind::Whole => "a whole number from 0",
        Kind::Boolean => "true or false",
        Kind::Fields => "an object of texts, or of lists of texts, as in {\"x-api-key\": \"abc\"}",
        Kind::Objects => "a list of objects",
        Kind::Numbers => "a list of numbers",
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text '{}'", shown(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::RawCheck;
    use super::read;

    #[test]
    fn a_field_that_is_wrong_and_given_again_is_refused_in_few_words() {
        let body = format!(r#"{{"rate": "`{}`", "rate": 1}}"#, "x".repeat(60_000));
        let json = read::<RawCheck<'_>>(body.as_bytes()).unwrap_err().json();
        assert!(json.contains("the body does not fit: invalid type: string") && json.len() < 300, "{json}");
        let json = read::<RawCheck<'_>>(br#"{"rate": 1, "rate": 1}"#).unwrap_err().json();
        assert!(
            json.contains("duplicate field `rate`; give it once") && json.ends_with(r#""field":"rate"}"#),
            "{json}"
        );
    }

    #[test]
    fn an_unknown_field_is_named_whatever_its_name_is() {
        let long = "x".repeat(60_000);
        for (name, field) in [
            ("brust", "brust"),
            ("", "\\\"\\\""),
            ("a`b", "a`b"),
            ("a`, expected b", "a`, expected b"),
            ("a at line 7", "a at line 7"),
            (&long, &*format!("{}…", "x".repeat(64))),
        ] {
            let body = format!("{{\"{name}\": 1}}");
            let json = read::<RawCheck<'_>>(body.as_bytes()).unwrap_err().json();
            assert!(json.ends_with(&format!("\"field\":\"{field}\"}}")), "{json}");
            assert!(json.contains(&format!("unknown field `{field}`, expected one of `key`, ")), "{json}");
            assert!(json.len() < 1_000, "{}", json.len());
        }
    }
}
