//! Who changes something.

use std::net::IpAddr;

use crate::{NAME_BYTES_MAX, RecordsError, limits};

/// Who changes tables by hand, as versions and the audit trail call it. No token has this name.
pub(crate) const BY_HAND: &str = "sql";

/// Who changes something, and from where: it stands in the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name of a token, of a user of the machine, or of a part of the program.
    pub name: String,
    /// Where the request came from, if it came over a network.
    pub source_address: Option<IpAddr>,
}

impl Author {
    /// Somebody at this machine.
    pub fn new(name: impl Into<String>) -> Author {
        Author { name: name.into(), source_address: None }
    }

    /// Somebody at this address.
    #[must_use]
    pub fn from(self, address: IpAddr) -> Author {
        Author { source_address: Some(address), ..self }
    }

    pub(crate) fn check(&self) -> Result<(), RecordsError> {
        limits::text("author", &self.name, NAME_BYTES_MAX)
    }
}
