//! Which settings there are. A setting `max_keys` is the flag `--max-keys`, the variable `TOLLGATE_MAX_KEYS` and the field
//! `max_keys` of the file.

use super::Origin;

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// As the file has it.
    pub name: &'static str,
    /// What it is unless somebody says otherwise; empty if it is nothing.
    pub usual: &'static str,
    /// Whether it is never printed.
    pub is_secret: bool,
    /// Whether it may be read from a file of its own, since it is or has a secret: see [`Known::file_name`].
    pub has_file: bool,
}

const fn plain(name: &'static str, usual: &'static str) -> Known {
    Known { name, usual, is_secret: false, has_file: false }
}

/// A URL that may have a password in it.
const fn url(name: &'static str, usual: &'static str) -> Known {
    Known { has_file: true, ..plain(name, usual) }
}

const fn secret(name: &'static str) -> Known {
    Known { is_secret: true, has_file: true, ..plain(name, "") }
}

/// Every setting, in the order in which they are listed.
pub static KNOWN: [Known; 26] = [
    plain("policy", ""),
    url("store", "memory"),
    plain("max_keys", "auto"),
    plain("table_full", "inherit"),
    plain("log_entries_max", "auto"),
    plain("snapshot", ""),
    plain("snapshot_every", "10s"),
    plain("http", "127.0.0.1:8080"),
    plain("resp", "127.0.0.1:6380"),
    plain("admin", "127.0.0.1:8082"),
    plain("metrics", "off"),
    plain("grpc", "off"),
    url("records", ""),
    plain("state_dir", ""),
    plain("violations_keep", "30d"),
    plain("violations_max_rows", "1000000"),
    plain("identifiers", "plain"),
    secret("identifiers_secret"),
    secret("resp_password"),
    secret("admin_token"),
    plain("admin_host", ""),
    plain("playground", "signed-in"),
    plain("max_connections", "10000"),
    plain("idle_timeout", "60s"),
    plain("grace", "10s"),
    plain("log", "text"),
];

/// Settings of the tables in memory, which have no effect with a shared store.
pub(super) static MEMORY_ONLY: [&str; 3] = ["max_keys", "table_full", "log_entries_max"];

/// Settings of parts that this build does not have, and what they are for. Refused wherever they stand.
pub(super) static LATER: [(&str, &str); 1] = [("decision_log", "writes a decision log")];

impl Known {
    /// The setting of this name.
    pub fn named(name: &str) -> Option<&'static Known> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// As on a command line.
    pub fn flag(name: &str) -> String {
        format!("--{}", name.replace('_', "-"))
    }

    /// As in the environment.
    pub fn variable(name: &str) -> String {
        format!("TOLLGATE_{}", name.to_ascii_uppercase())
    }

    /// The name of the setting that names the file which holds it.
    pub fn file_name(&self) -> String {
        format!("{}_file", self.name)
    }

    /// What it is if nobody says anything.
    pub(super) fn usual_value(&'static self) -> super::Value {
        let text = (!self.usual.is_empty()).then(|| self.usual.to_owned());
        super::Value { known: self, text, origin: Origin::Default }
    }
}
