//! Where the collector takes spans.

use http::Uri;

use super::variables::Variables;

const OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const OF_ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// What is appended to the address that all signals share.
const PATH: &str = "/v1/traces";

/// The address, if one is given that can be used. The one of traces is taken as it is.
pub(super) fn read(variables: &mut Variables) -> Option<Uri> {
    for (name, path) in [(OF_TRACES, ""), (OF_ALL, PATH)] {
        let Some(text) = variables.text(name) else { continue };
        let base = if path.is_empty() { &text } else { text.trim_end_matches('/') };
        match address(&format!("{base}{path}")) {
            Ok(uri) => return Some(uri),
            // It may hold a password.
            Err(why) if text.contains('@') => variables.warn_of_secret(name, why),
            Err(why) => variables.warn(name, &text, why),
        }
    }
    None
}

fn address(text: &str) -> Result<Uri, &'static str> {
    const USE: &str = "it is passed over; use an address such as http://127.0.0.1:4318";
    let uri: Uri = text.parse().map_err(|_| USE)?;
    let authority = uri.authority().ok_or(USE)?;
    if authority.as_str().contains('@') {
        return Err("it is passed over, as it has a name or password in it; put those into \
            OTEL_EXPORTER_OTLP_HEADERS, as in authorization=Basic%20…");
    }
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if is_http && !authority.host().is_empty() { Ok(uri) } else { Err(USE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(traces: &str, all: &str) -> (Option<String>, Vec<String>) {
        let pairs = [(OF_TRACES, traces), (OF_ALL, all)];
        let mut variables = Variables::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        (read(&mut variables).map(|uri| uri.to_string()), variables.into_warnings())
    }

    #[test]
    fn the_address_of_traces_is_taken_as_it_is_and_the_one_of_all_gets_the_path() {
        for (traces, all, expected) in [
            ("", "http://a:4318", "http://a:4318/v1/traces"),
            ("", "http://a:4318/", "http://a:4318/v1/traces"),
            ("", "https://a/otlp/", "https://a/otlp/v1/traces"),
            ("http://b:1/x", "http://a:4318", "http://b:1/x"),
            ("http://b:1", "", "http://b:1/"),
            ("no address", "http://[::1]:4318", "http://[::1]:4318/v1/traces"),
        ] {
            assert_eq!(of(traces, all).0.as_deref(), Some(expected));
        }
        assert_eq!(of("", ""), (None, Vec::new()));
    }

    #[test]
    fn what_is_no_address_is_named_with_its_cure_and_a_password_is_not_shown() {
        for text in ["collector:4318", "ftp://a", "http://", "/v1/traces", "http://a b"] {
            let (found, warnings) = of(text, "");
            assert_eq!(found, None, "{text}");
            assert!(warnings[0].starts_with(&format!("{OF_TRACES} is '{text}'; it is passed over")));
            assert!(warnings[0].ends_with("use an address such as http://127.0.0.1:4318"));
        }
        let (found, warnings) = of("", "https://user:secret@a");
        assert_eq!(found, None);
        assert!(!warnings[0].contains("secret") && warnings[0].contains("OTLP_HEADERS"), "{warnings:?}");
    }
}
