//! Who said what a setting is.

use std::fmt;

/// Who said what a setting is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: it is what is usual.
    Default,
    /// The file of settings.
    File {
        /// The file.
        path: String,
        /// From 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag.
    Flag {
        /// With its dashes.
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "file {path}:{line}"),
            Origin::Environment { variable } => write!(f, "environment {variable}"),
            Origin::Flag { flag } => write!(f, "flag {flag}"),
        }
    }
}
