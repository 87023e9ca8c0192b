//! What is wrong with a setting: one line with the place, the value and the cure.

use std::fmt;

use super::Origin;

/// What is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// Whether it was typed on the command line: wrong usage.
    pub is_usage: bool,
    line: String,
}

impl SettingsError {
    /// A value that the setting cannot have. `shown` is what may be printed of it.
    pub(super) fn value(origin: &Origin, name: &str, shown: &str, why: &str) -> SettingsError {
        let place = SettingsError::place(origin, name);
        let is_usage = matches!(origin, Origin::Flag { .. });
        SettingsError { is_usage, line: format!("{place} is '{shown}': {why}") }
    }

    /// Where a value was set, as messages begin.
    pub(super) fn place(origin: &Origin, name: &str) -> String {
        match origin {
            Origin::Default => format!("`{name}`"),
            Origin::File { path, line } => format!("{path}:{line}: `{name}`"),
            Origin::Environment { variable } => variable.clone(),
            Origin::Flag { flag } => flag.clone(),
        }
    }

    /// Anything else.
    pub(super) fn other(is_usage: bool, line: String) -> SettingsError {
        SettingsError { is_usage, line }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for SettingsError {}
