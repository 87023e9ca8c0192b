//! All clients of the demo, on one thread of their own.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::JoinHandle;

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::cast;
use super::tally::Tally;

/// Clients at work.
pub(super) struct Traffic {
    end: oneshot::Sender<()>,
    thread: JoinHandle<Tally>,
}

impl Traffic {
    /// Sends everybody to the HTTP door at this address.
    pub(super) fn begin(address: &str) -> Traffic {
        let (end, ended) = oneshot::channel();
        let address = address.to_owned();
        Traffic { end, thread: std::thread::spawn(move || send(&address, ended)) }
    }

    /// Calls everybody back; what became of them.
    pub(super) fn end(self) -> Tally {
        // If the thread is gone it need not be told.
        let _ = self.end.send(());
        self.thread.join().unwrap_or_default()
    }
}

fn send(address: &str, ended: oneshot::Receiver<()>) -> Tally {
    let tally = Rc::new(RefCell::new(Tally::default()));
    // Without a runtime there are no clients, and the summary says so.
    if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
        let clients = LocalSet::new();
        for (seed, client) in (1..).zip(cast::everybody()) {
            clients.spawn_local(client.run(address.to_owned(), seed, Rc::clone(&tally)));
        }
        let _ = clients.block_on(&runtime, ended);
    }
    tally.take()
}
