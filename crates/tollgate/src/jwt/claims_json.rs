//! The JSON of a token. A member that occurs more than once is a list of all its values.
//!
//! The usual parser keeps the last of them, where other readers of the token may keep the first. A list is ambiguous to
//! every rule, fails every check of `exp`, `nbf` and `iss`, and names no user. Costs no more than the usual parser, and is
//! bounded as that one is: by the token's length and by 128 levels.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// Reads a JSON text; `None` if it is none.
pub(super) fn read(json: &[u8]) -> Option<Value> {
    serde_json::from_slice::<EveryMember>(json).ok().map(|read| read.0)
}

struct EveryMember(Value);

impl<'de> Deserialize<'de> for EveryMember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EveryMember, D::Error> {
        deserializer.deserialize_any(Reader).map(EveryMember)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(EveryMember(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, EveryMember(value))) = members.next_entry::<String, EveryMember>()? {
            match object.entry(name) {
                Entry::Vacant(vacant) => _ = vacant.insert(value),
                Entry::Occupied(mut occupied) => match occupied.get_mut() {
                    Value::Array(values) => values.push(value),
                    first => *first = Value::Array(vec![first.take(), value]),
                },
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repeated_member_is_a_list_of_its_values() {
        let text = br#"{"sub": "a", "plan": "pro", "plan": "free", "org": {"id": 1, "id": 2, "id": 3}, "l": [1], "l": 2}"#;
        let expected = json!({"sub": "a", "plan": ["pro", "free"], "org": {"id": [1, 2, 3]}, "l": [1, 2]});
        assert_eq!(read(text), Some(expected));
    }

    #[test]
    fn other_json_is_read_as_usual() {
        for text in [
            r#"{"a": null, "b": [true, -1, 2.5, 1e400, {"c": "\u00e9"}], "d": 18446744073709551615}"#,
            r#"{"a": {"b": {"c": [[[[]]]]}}}"#,
            "[]",
            "1",
            "{",
            "{} x",
            &"[".repeat(200),
        ] {
            assert_eq!(read(text.as_bytes()), serde_json::from_str(text).ok(), "{text}");
        }
    }
}
