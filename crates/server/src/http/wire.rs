//! The JSON of requests, as it was typed. Unknown fields are refused; what the fields mean is somebody else's work.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Most checks of a batch.
pub(super) const CHECKS_MAX: usize = 1_000;
/// Most header fields of a described request.
const HEADERS_MAX: usize = 128;

/// A check: explicit buckets or a request's facts, and how it is meant.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawCheck<'b> {
    #[serde(borrow)]
    pub(crate) key: Option<Text<'b>>,
    pub(crate) rate: Option<f64>,
    pub(crate) burst: Option<f64>,
    pub(crate) cost: Option<f64>,
    #[serde(borrow)]
    pub(crate) buckets: Option<Vec<Object<RawBucket<'b>>>>,
    #[serde(borrow)]
    pub(crate) method: Option<Text<'b>>,
    #[serde(borrow)]
    pub(crate) path: Option<Text<'b>>,
    #[serde(borrow)]
    pub(crate) host: Option<Text<'b>>,
    #[serde(borrow)]
    pub(crate) ip: Option<Text<'b>>,
    pub(crate) headers: Option<RawHeaders>,
    #[serde(borrow)]
    pub(crate) user: Option<Text<'b>>,
    #[serde(borrow)]
    pub(crate) plan: Option<Text<'b>>,
    pub(crate) peek: Option<bool>,
    #[serde(borrow)]
    pub(crate) idempotency_key: Option<Text<'b>>,
    pub(crate) timeout_ms: Option<u64>,
}

/// One of several explicit buckets.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawBucket<'b> {
    #[serde(borrow)]
    pub(super) key: Option<Text<'b>>,
    pub(super) rate: Option<f64>,
    pub(super) burst: Option<f64>,
    pub(super) cost: Option<f64>,
}

/// Many checks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBatch<'b> {
    #[serde(borrow)]
    pub(super) checks: Vec<Object<RawCheck<'b>>>,
}

/// Many checks, each as it was typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPieces<'b> {
    #[serde(borrow)]
    pub(super) checks: Vec<&'b RawValue>,
}

/// A reservation that is to be settled.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawSettlement<'b> {
    #[serde(borrow)]
    pub(super) reservation: Option<Text<'b>>,
    pub(super) cost: Option<f64>,
    pub(super) costs: Option<Vec<f64>>,
}

/// What is an object and nothing else: without this, a list of values in the order of the fields would pass for one.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

/// Text that is not copied unless it holds escapes.
#[derive(Debug)]
pub(crate) struct Text<'b>(pub(crate) Cow<'b, str>);

/// Names and values; a value may be a list of values.
#[derive(Debug, Default)]
pub(crate) struct RawHeaders(pub(crate) Vec<(String, String)>);

impl RawCheck<'_> {
    /// Which of the fields that explicit buckets have are given.
    pub(super) fn explicit_field(&self) -> Option<&'static str> {
        if self.buckets.is_some() {
            Some("buckets")
        } else if self.key.is_some() {
            Some("key")
        } else if self.rate.is_some() {
            Some("rate")
        } else if self.burst.is_some() {
            Some("burst")
        } else {
            None
        }
    }

    /// Which of the fields that describe a request are given.
    pub(super) fn facts_field(&self) -> Option<&'static str> {
        let texts = [
            ("method", &self.method),
            ("path", &self.path),
            ("host", &self.host),
            ("ip", &self.ip),
            ("user", &self.user),
            ("plan", &self.plan),
        ];
        let text = texts.iter().find(|(_, text)| text.is_some()).map(|(name, _)| *name);
        text.or(self.headers.is_some().then_some("headers"))
    }
}

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

impl<'de: 'b, 'b> Deserialize<'de> for Text<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'b>, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

impl<'de> Deserialize<'de> for RawHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawHeaders, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = RawHeaders;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of header fields")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeaders, A::Error> {
                let mut headers = Vec::new();
                while let Some((name, values)) = map.next_entry::<String, OneOrMany>()? {
                    headers.extend(values.0.into_iter().map(|value| (name.clone(), value)));
                    if headers.len() > HEADERS_MAX {
                        return Err(serde::de::Error::custom(format_args!(
                            "`headers` has more than {HEADERS_MAX} fields; send those that the policy looks at"
                        )));
                    }
                }
                Ok(RawHeaders(headers))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A value, or several.
struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, or a list of texts, for each of `headers`")
            }
            fn visit_str<E>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(OneOrMany(values))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
