//! The schema and the parser agree: what loads is valid, and fields that do not exist are not.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::found::Found;
use super::tree::{Kind, Node};
use crate::{Policy, Regex, schema};

/// The tree as JSON, plain scalars as editors read them.
fn value_of(node: &Node<'_>) -> Value {
    match &node.kind {
        _ if node.is_null() => Value::Null,
        Kind::Plain(text) => match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
            _ => Value::String(text.to_string()),
        },
        Kind::Quoted(text) => Value::String(text.to_string()),
        Kind::List(items) => Value::Array(items.iter().map(value_of).collect()),
        Kind::Map(entries) => Value::Object(
            entries.iter().map(|(key, value)| (key.text.to_string(), value_of(value))).collect::<Map<_, _>>(),
        ),
        Kind::Broken => Value::Null,
    }
}

/// Whether a value is valid: as much of JSON Schema as ours uses; any other word fails.
fn is_valid(value: &Value, schema: &Value, root: &Value) -> bool {
    let words = schema.as_object().unwrap();
    words.iter().all(|(word, argument)| match word.as_str() {
        "$ref" => {
            let name = argument.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
            is_valid(value, &root["$defs"][name], root)
        }
        "type" => match argument {
            Value::Array(types) => types.iter().any(|kind| is_of_type(value, kind.as_str().unwrap())),
            kind => is_of_type(value, kind.as_str().unwrap()),
        },
        "const" => value == argument,
        "enum" => argument.as_array().unwrap().contains(value),
        "anyOf" => argument.as_array().unwrap().iter().any(|one| is_valid(value, one, root)),
        "if" => {
            let branch = if is_valid(value, argument, root) { "then" } else { "else" };
            is_valid(value, &words[branch], root)
        }
        "properties" => {
            fields(value).all(|(name, value)| argument.get(name).is_none_or(|one| is_valid(value, one, root)))
        }
        "patternProperties" => fields(value).all(|(name, value)| {
            argument.as_object().unwrap().iter().all(|(pattern, one)| {
                !Regex::new(pattern).unwrap().is_match(name) || is_valid(value, one, root)
            })
        }),
        "additionalProperties" => fields(value).all(|(name, value)| {
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let is_named = schema.get("properties").is_some_and(|fields| fields.get(name).is_some())
                || patterns
                    .is_some_and(|patterns| patterns.keys().any(|p| Regex::new(p).unwrap().is_match(name)));
            is_named || (argument.is_object() && is_valid(value, argument, root))
        }),
        "required" => {
            value.is_object()
                && argument.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
        }
        "items" => {
            value.as_array().is_none_or(|items| items.iter().all(|item| is_valid(item, argument, root)))
        }
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= argument.as_u64().unwrap()),
        "minProperties" => fields(value).count() as u64 >= argument.as_u64().unwrap(),
        "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= argument.as_u64().unwrap()),
        "pattern" => {
            value.as_str().is_none_or(|text| Regex::new(argument.as_str().unwrap()).unwrap().is_match(text))
        }
        "minimum" => value.as_f64().is_none_or(|number| number >= argument.as_f64().unwrap()),
        "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > argument.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= argument.as_f64().unwrap()),
        "then" | "else" | "$schema" | "$defs" | "title" | "description" | "examples" | "format" => true,
        word => panic!("the checker does not know `{word}`"),
    })
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the checker does not know the type `{other}`"),
    }
}

fn is_valid_text(text: &str) -> bool {
    let root = schema();
    let tree = super::events::read(text, &mut Found::default()).unwrap();
    is_valid(&value_of(&tree), &root, &root)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "json"));
    paths.sort();
    paths
}

#[test]
fn every_good_file_is_valid() {
    for path in files("policies") {
        assert!(is_valid_text(&fs::read_to_string(&path).unwrap()), "{}", path.display());
    }
    for preset in crate::presets() {
        assert!(is_valid_text(preset.yaml), "{}", preset.name);
    }
}

#[test]
fn every_file_with_a_field_that_does_not_exist_is_invalid() {
    let mut judged = 0;
    for path in files("mistakes") {
        let text = fs::read_to_string(&path).unwrap();
        let mistakes = Policy::parse("bad", &text).unwrap_err();
        if mistakes
            .iter()
            .any(|mistake| mistake.what.contains("has no field") && !mistake.what.contains("<<"))
        {
            judged += 1;
            assert!(!is_valid_text(&text), "{}", path.display());
        }
    }
    assert!(judged >= 10, "{judged}");
}

#[test]
fn the_schema_has_exactly_the_fields_of_a_rule() {
    let names = |value: &Value| {
        fields(value).map(|(name, _)| name.clone()).collect::<std::collections::BTreeSet<_>>()
    };
    let known =
        super::rule::FIELDS.iter().chain(&super::limit::FIELDS).map(|name| (*name).to_owned()).collect();
    assert_eq!(names(&schema()["$defs"]["rule"]["properties"]), known);
    let known = super::limit::FIELDS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(names(&schema()["$defs"]["limit"]["properties"]), known);
}

#[test]
fn the_schema_has_exactly_the_fields_of_a_policy_and_of_its_store() {
    let names = |definition: &str| {
        let schema = schema();
        let mut names: Vec<String> =
            fields(&schema["$defs"][definition]["properties"]).map(|(name, _)| name.clone()).collect();
        names.retain(|name| name != "$schema");
        names
    };
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names("policy"), sorted(&super::document::FIELDS));
    assert_eq!(names("store"), sorted(&super::store::FIELDS));
}

#[test]
fn the_checker_refuses_what_it_should() {
    let root = json!({"$defs": {}});
    assert!(!is_valid(&json!(0), &json!({"exclusiveMinimum": 0}), &root));
    assert!(!is_valid(
        &json!({"b": 1}),
        &json!({"properties": {"a": {}}, "additionalProperties": false}),
        &root
    ));
    assert!(!is_valid(&json!([]), &json!({"minItems": 1}), &root));
    assert!(!is_valid(
        &json!("x"),
        &json!({"if": {"type": "string"}, "then": {"const": "y"}, "else": {}}),
        &root
    ));
}
