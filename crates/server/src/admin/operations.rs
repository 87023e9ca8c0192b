//! What the admin door stands on: the engine, and what operators may ask and change of it.

use std::sync::Arc;

use super::guard::{Allowance, Hosts};
use super::keyring::Keyring;
use crate::engine::Engine;
use crate::policy_source::PolicyFault;

/// All that the handlers of the admin API see.
pub(crate) struct Operations {
    pub(super) engine: Arc<Engine>,
    pub(super) keyring: Keyring,
    pub(super) hosts: Hosts,
    pub(super) allowance: Allowance,
}

impl Operations {
    /// Of this engine.
    pub(crate) fn new(engine: Arc<Engine>, hosts: Hosts, keyring: Keyring) -> Result<Operations, PolicyFault> {
        Ok(Operations { engine, keyring, hosts, allowance: Allowance::new()? })
    }
}
