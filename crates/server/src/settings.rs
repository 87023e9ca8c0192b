//! The settings of the gatehouse (O4): flags beat the environment, which beats the file, which beats what is usual.
//!
//! ```text
//!  flags ─┐
//!  environment ─┼─► Resolved: each value and where it came from ─► Settings: what is true
//!  file ─┘
//! ```
//! Promises one line for every mistake, with the place, the value and the cure. Secrets are never printed.

mod error;
mod file;
mod known;
mod origin;
mod records;
mod resolve;
mod secret;
mod store;
mod typed;
mod violations;

pub use error::SettingsError;
pub use known::{KNOWN, Known};
pub use origin::Origin;
pub use resolve::{Resolved, Value, resolve};
pub use secret::read as read_secret;
pub use store::Store;
pub use typed::{LogForm, Playground, Settings};
