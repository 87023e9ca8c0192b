//! The doors, by name.

use std::fmt;

/// A door of the gatehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Door {
    /// JSON and forward-auth.
    Http,
    /// The Redis protocol.
    Resp,
    /// Health and metrics, and the admin API.
    Admin,
    /// Health and metrics alone.
    Metrics,
}

impl Door {
    /// Every door.
    pub const ALL: [Door; 4] = [Door::Http, Door::Resp, Door::Admin, Door::Metrics];

    /// As flags, settings and metrics have it.
    pub const fn name(self) -> &'static str {
        match self {
            Door::Http => "http",
            Door::Resp => "resp",
            Door::Admin => "admin",
            Door::Metrics => "metrics",
        }
    }

    /// Whether what it is about is over HTTP.
    pub(crate) const fn speaks_http(self) -> bool {
        !matches!(self, Door::Resp)
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
