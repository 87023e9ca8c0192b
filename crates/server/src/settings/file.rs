//! The file of settings: one mapping of names to plain values, in YAML or JSON.

use granit_parser::{Event, Parser};

use super::SettingsError;
use super::secret::{FILE_BYTES_MAX, text_of};

/// One line of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) line: usize,
}

/// All entries of the file, in order. Names are not known to be settings yet.
pub(super) fn read(path: &str) -> Result<Vec<Entry>, SettingsError> {
    let text = text_of(path, FILE_BYTES_MAX)
        .map_err(|why| SettingsError::other(false, format!("cannot read the settings '{path}': {why}")))?;
    entries(text.strip_prefix('\u{feff}').unwrap_or(&text))
        .map_err(|(line, why)| SettingsError::other(false, format!("{path}:{line}: {why}")))
}

/// What is being read.
enum Expected {
    /// The mapping's start, or that of the document.
    Start,
    Name,
    Value(String),
    /// Nothing more.
    End,
}

fn entries(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    const CURE: &str = "write one `name: value` per line, as in `http: 127.0.0.1:8080`";
    let mut entries: Vec<Entry> = Vec::new();
    let mut expected = Expected::Start;
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| (error.marker().line(), format!("{}; {CURE}", error.info())))?;
        let line = span.start.line();
        expected = match (expected, event) {
            (Expected::Start, Event::MappingStart(..)) => Expected::Name,
            // An empty document.
            (Expected::Start, Event::Scalar(text, ..)) if text.is_empty() || text == "~" => Expected::End,
            (Expected::Name, Event::MappingEnd) => Expected::End,
            (Expected::Name, Event::Scalar(name, ..)) => {
                if let Some(first) = entries.iter().find(|entry| entry.name == *name) {
                    return Err((
                        line,
                        format!("`{name}` is set on line {} too; drop one of them", first.line),
                    ));
                }
                Expected::Value(name.into_owned())
            }
            (Expected::Value(name), Event::Scalar(value, ..)) => {
                entries.push(Entry { name, value: value.into_owned(), line });
                Expected::Name
            }
            (Expected::Value(name), _) => return Err((line, format!("`{name}` is no plain value; {CURE}"))),
            (Expected::End, Event::DocumentStart(..)) => {
                return Err((line, "a second document begins here; drop it".to_owned()));
            }
            (
                expected @ (Expected::Start | Expected::End),
                Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd,
            ) => expected,
            _ => return Err((line, format!("this is no setting; {CURE}"))),
        };
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, usize)]) {
        let found = entries(text).unwrap_or_else(|(line, why)| panic!("{line}: {why}"));
        let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.value.as_str(), it.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn yaml_and_json_say_the_same() {
        check("http: off # shut\nmax_keys: 5\n", &[("http", "off", 1), ("max_keys", "5", 2)]);
        check("{\"http\": \"off\",\n \"max_keys\": 5}", &[("http", "off", 1), ("max_keys", "5", 2)]);
        check("# nothing\n", &[]);
        check("", &[]);
    }

    #[test]
    fn what_is_no_setting_is_refused_at_its_line() {
        for (text, line, said) in [
            ("a: 1\nhttp: [1]\n", 2, "`http` is no plain value"),
            ("http: off\nhttp: on\n", 2, "`http` is set on line 1 too"),
            ("- http\n", 1, "this is no setting"),
            ("word", 1, "this is no setting"),
            ("a: 1\n---\nb: 2\n", 2, "a second document"),
            ("a: *b\n", 1, "anchor"),
            ("a: \"x\n", 2, ""),
        ] {
            let (found, why) = entries(text).unwrap_err();
            assert!(found.abs_diff(line) <= 1 && why.contains(said), "{text:?}: {found}: {why}");
        }
    }
}
