//! A JSON object, written member by member in the order in which people read it.

use serde_json::Value;

/// An object that is being written.
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Object {
        Object(String::from("{"))
    }

    /// A member whose value escapes itself.
    pub(super) fn member(&mut self, name: &str, value: impl Into<Value>) -> &mut Object {
        self.raw(name, &value.into().to_string())
    }

    /// A member, if there is a value.
    pub(super) fn optional(&mut self, name: &str, value: Option<impl Into<Value>>) -> &mut Object {
        match value {
            Some(value) => self.member(name, value),
            None => self,
        }
    }

    /// A member that is a list of objects.
    pub(super) fn objects(&mut self, name: &str, objects: impl Iterator<Item = Object>) -> &mut Object {
        let objects: Vec<String> = objects.map(Object::finish).collect();
        self.raw(name, &format!("[{}]", objects.join(",")))
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn raw(&mut self, name: &str, json: &str) -> &mut Object {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_escape_what_they_hold() {
        let mut inner = Object::new();
        inner.member("z", "\"\n\u{1}é").optional("y", None::<u64>);
        let mut object = Object::new();
        object.member("b", 1).member("a", true).objects("list", [inner, Object::new()].into_iter());
        assert_eq!(object.finish(), r#"{"b":1,"a":true,"list":[{"z":"\"\n\u0001é"},{}]}"#);
    }
}
