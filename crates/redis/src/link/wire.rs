//! A connection to one place that is always there or being made again: a task watches over it.
//!
//! ```text
//!            first answer                closed, or silent for too long
//!  Dialing ───────────────► Live(line) ────────────────────────────────► Dialing or Down ──► … every 10 to 200 ms, for ever
//!                              │ in doubt (READONLY, another master): another line is dialed first, then they are swapped
//! ```
//! Whoever calls meanwhile waits only where the answer is about to come: at the very beginning, and once after a connection was closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::back_off::BackOff;
use super::counters::Counters;
use super::dial::{Dialer, Held};
use super::line::Line;
use super::target::Target;
use super::{DialError, LinkError, LinkOptions};
use crate::{Call, Reply, Script, ServerError};

/// A connection under supervision. Dropped, the connection is closed.
pub(crate) struct Wire {
    shared: Arc<Shared>,
    supervisor: JoinHandle<()>,
}

struct Shared {
    state: watch::Sender<State>,
    doubt: Notify,
    counters: Arc<Counters>,
}

/// How a wire is.
#[derive(Clone)]
pub(crate) enum State {
    /// The first attempt, or the first after a loss, is under way.
    Dialing,
    /// There is a connection.
    Live(Line),
    /// There is none, and why; another attempt will come.
    Down(Arc<DialError>),
}

/// Why a line is not watched any longer.
enum Verdict {
    Closed,
    Silent,
    InDoubt,
}

impl Wire {
    /// Begins to connect. Returns at once.
    pub(crate) fn open(
        dialer: Arc<Dialer>,
        target: Target,
        options: &LinkOptions,
        counters: Arc<Counters>,
    ) -> Wire {
        let shared =
            Arc::new(Shared { state: watch::Sender::new(State::Dialing), doubt: Notify::new(), counters });
        let supervisor = Supervisor { dialer, target, options: options.clone(), shared: Arc::clone(&shared) };
        Wire { shared, supervisor: tokio::spawn(supervisor.run()) }
    }

    /// Calls a script: one round trip, and a second one if the server does not know the script.
    pub(crate) async fn call(&self, call: &Call, is_asking: bool) -> Result<Reply, LinkError> {
        let line = self.line().await?;
        let counters = &self.shared.counters;
        let is_batch = call.script.name() == Script::decide().name();
        let round_trips = if is_batch { &counters.round_trips } else { &counters.upkeep_round_trips };
        Counters::count(round_trips);
        let mut reply = line.evalsha(call, is_asking).await?;
        if matches!(&reply, Reply::Error(said) if ServerError::of_message(said) == ServerError::NoScript) {
            Counters::count(&counters.scripts_sent);
            Counters::count(round_trips);
            reply = line.eval(call, is_asking).await?;
        }
        let Reply::Error(said) = reply else { return Ok(reply) };
        let error = ServerError::of_message(&said);
        if matches!(error, ServerError::ReadOnly(_) | ServerError::NotReady(_)) {
            self.doubt();
        }
        Err(LinkError::Server(error))
    }

    /// The connection; waits while the first attempt is under way, at most as long as one may take.
    pub(crate) async fn line(&self) -> Result<Line, LinkError> {
        match &*self.shared.state.borrow() {
            State::Live(line) => return Ok(line.clone()),
            State::Down(cause) => return Err(LinkError::NotConnected(Arc::clone(cause))),
            State::Dialing => {}
        }
        let mut states = self.shared.state.subscribe();
        let state =
            states.wait_for(|state| !matches!(state, State::Dialing)).await.map_err(|_| LinkError::Closed)?;
        match &*state {
            State::Live(line) => Ok(line.clone()),
            State::Down(cause) => Err(LinkError::NotConnected(Arc::clone(cause))),
            State::Dialing => Err(LinkError::Closed),
        }
    }

    /// The connection, if there is one now.
    pub(crate) fn live(&self) -> Option<Line> {
        match &*self.shared.state.borrow() {
            State::Live(line) => Some(line.clone()),
            _ => None,
        }
    }

    /// How it is, and how it changes.
    pub(crate) fn states(&self) -> watch::Receiver<State> {
        self.shared.state.subscribe()
    }

    /// Something is not as it should be: looks for another connection, and keeps this one until there is one.
    pub(crate) fn doubt(&self) {
        self.shared.doubt.notify_one();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

struct Supervisor {
    dialer: Arc<Dialer>,
    target: Target,
    options: LinkOptions,
    shared: Arc<Shared>,
}

impl Supervisor {
    async fn run(mut self) {
        let mut back_off = BackOff::new(&self.options);
        loop {
            let mut held = self.dial_until_live(&mut back_off).await;
            loop {
                let is_proven = AtomicBool::new(false);
                let verdict = self.watch_over(&mut held, &is_proven).await;
                if is_proven.load(Ordering::Relaxed) {
                    back_off.reset();
                }
                let address = held.line.address.as_ref().clone();
                match verdict {
                    Verdict::InDoubt => {
                        self.replace(&mut held, &mut back_off).await;
                        continue;
                    }
                    Verdict::Silent => self.publish(State::Down(Arc::new(DialError::Silent { address }))),
                    // Nothing is wrong with the server, or it is gone: the next attempt tells.
                    Verdict::Closed if is_proven.load(Ordering::Relaxed) => self.publish(State::Dialing),
                    Verdict::Closed => {
                        self.publish(State::Down(Arc::new(DialError::Closed { address })));
                        tokio::time::sleep(back_off.next()).await;
                    }
                }
                break;
            }
            Counters::count(&self.shared.counters.losses);
        }
    }

    async fn dial_until_live(&mut self, back_off: &mut BackOff) -> Held {
        let Supervisor { dialer, target, options, shared } = self;
        loop {
            // The pause runs while we dial: an attempt that times out needs no pause after it.
            let pause = tokio::time::sleep(back_off.next());
            let mut dialing = std::pin::pin!(target.dial(dialer));
            let attempt = if let Ok(attempt) = tokio::time::timeout(options.dial_timeout, &mut dialing).await
            {
                attempt
            } else {
                // Sentinels and then a master may take longer than whoever calls should wait.
                shared.state.send_if_modified(|state| {
                    let is_dialing = matches!(state, State::Dialing);
                    if is_dialing {
                        *state = State::Down(Arc::new(DialError::NotYet));
                    }
                    is_dialing
                });
                dialing.await
            };
            match attempt {
                Ok(held) => {
                    Counters::count(&shared.counters.connects);
                    shared.state.send_replace(State::Live(held.line.clone()));
                    return held;
                }
                Err(error) => shared.state.send_replace(State::Down(Arc::new(error))),
            };
            pause.await;
        }
    }

    /// Dials another line, and swaps if there is one.
    async fn replace(&mut self, held: &mut Held, back_off: &mut BackOff) {
        let pause = tokio::time::sleep(back_off.next());
        if let Ok(other) = self.target.dial(&self.dialer).await {
            Counters::count(&self.shared.counters.connects);
            self.publish(State::Live(other.line.clone()));
            let old = std::mem::replace(held, other);
            let is_elsewhere = old.line.address != held.line.address;
            // What is under way there may still be answered.
            let silence_max = self.options.silence_max;
            tokio::spawn(async move {
                tokio::time::sleep(silence_max).await;
                drop(old);
            });
            if is_elsewhere {
                return;
            }
        }
        pause.await;
    }

    /// Until the connection ends, answers nothing any more, or may not be the right one.
    async fn watch_over(&mut self, held: &mut Held, is_proven: &AtomicBool) -> Verdict {
        let Held { line, driver } = held;
        let (heartbeat, silence_max) = (self.options.heartbeat, self.options.silence_max);
        let beats = async {
            loop {
                tokio::time::sleep(heartbeat).await;
                match tokio::time::timeout(silence_max, line.ping()).await {
                    Ok(Ok(_)) => is_proven.store(true, Ordering::Relaxed),
                    Ok(Err(_)) => return Verdict::Closed,
                    Err(_) => return Verdict::Silent,
                }
            }
        };
        tokio::select! {
            () = driver.ended() => Verdict::Closed,
            verdict = beats => verdict,
            () = self.shared.doubt.notified() => Verdict::InDoubt,
            () = self.target.moved_from(&line.address) => Verdict::InDoubt,
        }
    }

    fn publish(&self, state: State) {
        self.shared.state.send_replace(state);
    }
}
