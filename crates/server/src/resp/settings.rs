//! What all connections of one door share.

use super::{Limits, Password};

/// What all connections of one door share.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The maxima of each connection.
    pub limits: Limits,
    /// What a client must say before anything else, as the user `default`. Without one, everybody may ask at once.
    pub password: Option<Password>,
}
