//! What the admin door stands on: the engine, the records, and what operators may ask and change of them.

use std::path::PathBuf;
use std::sync::Arc;

use tollgate_records::{Records, ViolationLog};

use super::caller::Caller;
use super::events::Events;
use super::follower::Follower;
use super::guard::{Allowance, Hosts};
use super::keyring::Keyring;
use super::neighbours::Neighbours;
use super::page::Files;
use super::playroom::Playroom;
use super::session::Sessions;
use super::start_token::Offer;
use super::workshop::Workshop;
use crate::engine::Engine;
use crate::policy_source::PolicyFault;
use crate::pulse::Pulse;
use crate::resp::Password;
use crate::settings::Playground;

/// All that the handlers of the admin API see.
pub(crate) struct Operations {
    pub(super) engine: Arc<Engine>,
    /// Unless nothing is on record.
    pub(super) records: Option<Records>,
    /// Unless nobody notes any.
    pub(super) violations: Option<ViolationLog>,
    pub(super) keyring: Keyring,
    pub(super) sessions: Sessions,
    pub(super) hosts: Hosts,
    pub(super) allowance: Allowance,
    pub(super) events: Events,
    /// What was done, second by second.
    pub(super) pulse: Pulse,
    pub(super) follower: Follower,
    /// The instances that share the records.
    pub(super) neighbours: Neighbours,
    /// The page that browsers show.
    pub(super) page: Files,
    /// Where it is found out what changes would come to.
    pub(super) proposals: Workshop,
    /// Where changes are judged and made.
    pub(super) changes: Workshop,
    /// Who may have limits played through.
    pub(super) playground: Playground,
    /// Where that is done for who is signed in.
    pub(super) playroom: Playroom,
    /// And for strangers, so that they keep nobody else from it.
    pub(super) strangers_playroom: Playroom,
}

impl Operations {
    /// Of this engine, these records and this log of violations; the settings may name a token besides those on record. The door has so
    /// many connections.
    pub(crate) fn new(
        engine: Arc<Engine>,
        records: Option<Records>,
        violations: Option<ViolationLog>,
        token: Option<Password>,
        hosts: Hosts,
        connections: usize,
    ) -> Result<Operations, PolicyFault> {
        let keyring = Keyring::new(token, records.clone());
        let (allowance, events, follower) =
            (Allowance::new()?, Events::of_door(connections), Follower::default());
        Ok(Operations {
            engine,
            records,
            violations,
            keyring,
            sessions: Sessions::default(),
            hosts,
            allowance,
            events,
            pulse: Pulse::default(),
            follower,
            neighbours: Neighbours::default(),
            page: Files::default(),
            proposals: Workshop::default(),
            changes: Workshop::default(),
            playground: Playground::default(),
            playroom: Playroom::default(),
            strangers_playroom: Playroom::default(),
        })
    }

    /// The same with a playground for these.
    pub(crate) fn with_playground(self, playground: Playground) -> Operations {
        Operations { playground, ..self }
    }

    /// Adds a viewer token of this start, valid while there is no other token. It is kept in `file`.
    pub(crate) fn with_start_token(self, file: Option<PathBuf>) -> Operations {
        Operations { keyring: self.keyring.with_start_token(file), ..self }
    }

    /// Returns what to offer while no token is configured: the viewer token of this start, once it is in its file.
    pub(crate) async fn offer(&self) -> Option<Offer<'_>> {
        self.keyring.offer().await
    }

    /// Removes the file of the start's viewer token: the program ends.
    pub(crate) fn end_start_token(&self) {
        self.keyring.end_start_token();
    }

    /// Whether somebody who was let in still may ask: the token stands, as far as is known, and so does the session.
    pub(super) async fn still_lets_in(&self, caller: &Caller) -> bool {
        let now = self.engine.limiter.limiter().now();
        caller.session.is_none_or(|session| self.sessions.is_open(session, now))
            && self.keyring.still_knows(caller).await
    }

    /// Starts the background tasks, which end with the program: operations of other instances, the pulse, the exchange of top clients, and
    /// the look for the first token.
    pub(crate) fn begin(self: &Arc<Operations>) {
        tokio::spawn(Arc::clone(self).follow());
        tokio::spawn(Arc::clone(self).keep_pulse());
        tokio::spawn(Arc::clone(self).share_talkers());
        let operations = Arc::clone(self);
        tokio::spawn(async move { operations.keyring.watch().await });
    }

    /// Has the pulse beat for as long as the program runs.
    async fn keep_pulse(self: Arc<Operations>) {
        self.pulse.beat(&self.engine).await;
    }

    /// Ends what would not end by itself: the program stops.
    pub(crate) fn close(&self) {
        self.events.close();
    }
}
