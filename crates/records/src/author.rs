//! Who changes something.

use std::net::IpAddr;

use crate::{NAME_BYTES_MAX, RecordsError, limits};

/// Who changes tables by hand, as versions and the audit trail call it.
pub(crate) const BY_HAND: &str = "sql";

/// Names that no token has, and what is signed with them.
pub(crate) const RESERVED: [(&str, &str); 3] = [
    (BY_HAND, "changes by hand are signed with"),
    ("settings", "the token of the settings signs with"),
    ("local", "whoever comes without a token is called"),
];

/// Who changes something, and from where: it stands in the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name and number of a token, the name of a user of the machine, or of a part of the program.
    pub name: String,
    /// Where the request came from, if it came over a network.
    pub source_address: Option<IpAddr>,
}

impl Author {
    /// Somebody at this machine.
    pub fn new(name: impl Into<String>) -> Author {
        Author { name: name.into(), source_address: None }
    }

    /// Whoever holds a token: `ann (0123456789abcdef)`. A name that is too long with the number is cut: the number tells tokens apart.
    pub fn of_token(name: &str, token_id: &str) -> Author {
        let number = format!(" ({token_id})");
        let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX.saturating_sub(number.len()))];
        Author::new(format!("{name}{number}"))
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
