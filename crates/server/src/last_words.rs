//! What is still heard when the program ends: whoever has asked before that is answered.
//!
//! A request that has arrived is not always known to us: the machine tells us a moment later. So connections that ask nothing are closed
//! a moment after the program was told to end.

use std::time::Duration;

use tokio::sync::watch;

/// How long what has arrived may take to be heard.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// Until the program ends and everything that was said before was heard.
pub(crate) async fn heard(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
    tokio::time::sleep(LAST_WORDS).await;
}
