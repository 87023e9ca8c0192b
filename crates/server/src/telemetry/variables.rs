//! The environment, read as OpenTelemetry asks: an empty value is none, and a bad one is warned of and passed over.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Longest value that is shown in a warning, in characters.
const SHOWN_CHARS_MAX: usize = 64;

/// The variables of OpenTelemetry, and what is wrong with them.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: BTreeMap<String, String>,
    warnings: Vec<String>,
}

impl Variables {
    pub(super) fn of_environment() -> Variables {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let all = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        Variables::new(all.filter(|(name, _)| name.starts_with("OTEL_")))
    }

    pub(super) fn new(values: impl IntoIterator<Item = (String, String)>) -> Variables {
        let trimmed = values.into_iter().map(|(name, value)| (name, value.trim().to_owned()));
        Variables { values: trimmed.filter(|(_, value)| !value.is_empty()).collect(), warnings: Vec::new() }
    }

    /// The value of the first of these that has one, and which it is.
    pub(super) fn first(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|name| Some((*name, self.values.get(*name)?.clone())))
    }

    pub(super) fn text(&self, name: &'static str) -> Option<String> {
        self.values.get(name).cloned()
    }

    /// A whole number; `usual` if there is none, or none in `range`.
    pub(super) fn number(&mut self, names: &[&'static str], range: RangeInclusive<u64>, usual: u64) -> u64 {
        let Some((name, value)) = self.first(names) else { return usual };
        match value.parse() {
            Ok(number) if range.contains(&number) => number,
            _ => {
                let cure = format!("use a whole number from {} to {}", range.start(), range.end());
                self.warn(name, &value, &format!("{usual} counts instead; {cure}"));
                usual
            }
        }
    }

    /// Whether it is `true`.
    pub(super) fn is_true(&mut self, name: &'static str) -> bool {
        let Some(value) = self.text(name) else { return false };
        if !value.eq_ignore_ascii_case("true") && !value.eq_ignore_ascii_case("false") {
            self.warn(name, &value, "false counts instead; use true or false");
        }
        value.eq_ignore_ascii_case("true")
    }

    /// Notes what becomes of a bad value, and what to write instead.
    pub(super) fn warn(&mut self, name: &str, value: &str, why: &str) {
        let shown: String = value.chars().take(SHOWN_CHARS_MAX).collect();
        let more = if shown.len() < value.len() { "…" } else { "" };
        self.warnings.push(format!("{name} is '{shown}{more}'; {why}"));
    }

    /// The same where the value may hold a secret.
    pub(super) fn warn_of_secret(&mut self, name: &str, why: &str) {
        self.warnings.push(format!("{name} is '********'; {why}"));
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }
}
