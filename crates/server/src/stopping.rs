//! How the program is told to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;

/// SIGTERM and SIGINT.
pub(crate) struct Signals {
    terminate: Mutex<Signal>,
    interrupt: Mutex<Signal>,
}

impl Signals {
    /// From now on these signals do not end the program by themselves.
    pub(crate) fn new() -> io::Result<Signals> {
        let terminate = Mutex::new(signal(SignalKind::terminate())?);
        let interrupt = Mutex::new(signal(SignalKind::interrupt())?);
        Ok(Signals { terminate, interrupt })
    }

    /// Until one of them comes.
    pub(crate) async fn stop(&self) {
        let (mut terminate, mut interrupt) = (self.terminate.lock().await, self.interrupt.lock().await);
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
