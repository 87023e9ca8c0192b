//! The admin door of a running server, as the commands of operators ask it.
//!
//! Promises an end in time whatever the server does, and one sentence with the cure where something went wrong. The token is read from the
//! environment or a file, sent to the door, and shown nowhere.

mod admin_error;
mod admin_url;
mod client;
mod flags;
mod problem_document;
mod target;
mod token;

pub(crate) use admin_error::AdminError;
pub(crate) use client::AdminDoor;
pub(crate) use flags::{AdminFlags, Asking, HELP};
pub(crate) use target::Target;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// An answer in the form that a table is made of.
pub(crate) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, AdminError> {
    T::deserialize(answer).map_err(|error| AdminError::Garbled(error.to_string()))
}
