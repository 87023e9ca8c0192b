//! What the admin door stands on: the engine, and what operators may ask and change of it.

use std::sync::Arc;

use super::events::Events;
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
    pub(super) events: Events,
}

impl Operations {
    /// Of this engine.
    pub(crate) fn new(
        engine: Arc<Engine>,
        hosts: Hosts,
        keyring: Keyring,
    ) -> Result<Operations, PolicyFault> {
        let (allowance, events) = (Allowance::new()?, Events::default());
        Ok(Operations { engine, keyring, hosts, allowance, events })
    }

    /// Ends what would not end by itself: the program stops.
    pub(crate) fn close(&self) {
        self.events.close();
    }
}
