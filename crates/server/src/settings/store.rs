//! Where the buckets are: in memory, or in a store that instances share.

use std::borrow::Cow;

use tollgate_redis::StoreUrl;

/// Where the buckets are.
#[derive(Debug, Clone)]
pub enum Store {
    /// In this program's memory: limits hold per instance.
    Memory,
    /// On Redis or Valkey: limits hold over all instances.
    Shared(Box<StoreUrl>),
}

impl Store {
    pub(super) fn parse(text: &str) -> Result<Store, String> {
        if text == "memory" {
            return Ok(Store::Memory);
        }
        let url = StoreUrl::parse(text).map_err(|error| error.to_string())?;
        Ok(Store::Shared(Box::new(url)))
    }
}

/// The text without passwords: neither the user's part of a URL nor a parameter that names one is shown.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return Cow::Borrowed(text) };
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let place =
        place.rsplit_once('@').map_or(Cow::Borrowed(place), |(_, host)| format!("********@{host}").into());
    let query = query.map(|query| {
        let shown = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if name.contains("password") => format!("{name}=********"),
            _ => pair.to_owned(),
        });
        shown.collect::<Vec<_>>().join("&")
    });
    match query {
        Some(query) => format!("{scheme}://{place}?{query}").into(),
        None => format!("{scheme}://{place}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("memory", "memory"),
            ("redis://localhost", "redis://localhost"),
            ("redis://ann:se@cret@localhost:1/2", "redis://********@localhost:1/2"),
            ("rediss://:p@h?ca=/a&insecure=1", "rediss://********@h?ca=/a&insecure=1"),
            (
                "redis+sentinel://a,b/main?sentinel_password=x&sentinel_user=u",
                "redis+sentinel://a,b/main?sentinel_password=********&sentinel_user=u",
            ),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
