//! One line in the log for each change of the link: connected, not connected and why, another server. Never one for a check, and none of an
//! outage that the breaker has told of ([`Outage`]).

use std::sync::{Arc, Weak};
use std::time::Duration;

use tollgate::Clock;

use super::Inner;
use super::outage::Outage;
use crate::{Address, LinkStatus, LinkWatch};

/// How often scripts that were sent are counted.
const SCRIPTS_PERIOD: Duration = Duration::from_secs(1);
/// After a line about them there is none for so long: a server without memory forgets each of them at once.
const SCRIPTS_QUIET: Duration = Duration::from_secs(30);

/// What the last line said.
#[derive(Debug, Default, PartialEq, Eq)]
enum Said {
    #[default]
    Nothing,
    Connected(Vec<Address>),
    Down,
}

/// What is worth a line.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Connected,
    Moved { from: Vec<Address> },
    Down,
}

/// Follows the link until it is closed.
pub(super) fn run(inner: &Arc<Inner>) {
    let watch = inner.coalescer.link().watch();
    tokio::spawn(follow(watch, inner.gate.outage(), inner.clock.clone()));
    tokio::spawn(count_scripts(Arc::downgrade(inner)));
}

async fn follow(mut watch: LinkWatch, outage: Arc<Outage>, clock: Clock) {
    let mut said = Said::default();
    while let Some(status) = watch.next().await {
        let line = said.change(&status);
        match (line, status) {
            (Some(Line::Connected), LinkStatus::Connected(servers)) => {
                outage.link_is_up(&names(&servers), clock.now());
            }
            (Some(Line::Moved { from }), LinkStatus::Connected(servers)) => {
                tracing::info!(servers = %names(&servers), before = %names(&from), "the shared store is another server now; followed");
            }
            (Some(Line::Down), LinkStatus::Down(cause)) => outage.link_is_down(&cause, clock.now()),
            _ => {}
        }
    }
}

impl Said {
    /// What to say of a status. A link that is lost and found again at once is not worth a line.
    fn change(&mut self, status: &LinkStatus) -> Option<Line> {
        match (&mut *self, status) {
            (_, LinkStatus::Connecting) | (Said::Down, LinkStatus::Down(_)) => None,
            (_, LinkStatus::Down(_)) => {
                *self = Said::Down;
                Some(Line::Down)
            }
            (Said::Connected(before), LinkStatus::Connected(servers)) => {
                let is_same = before == servers;
                let from = std::mem::replace(before, servers.clone());
                (!is_same).then_some(Line::Moved { from })
            }
            (_, LinkStatus::Connected(servers)) => {
                *self = Said::Connected(servers.clone());
                Some(Line::Connected)
            }
        }
    }
}

/// Says that a server did not know a script: it is new, was started anew, or was told to forget.
async fn count_scripts(ledger: Weak<Inner>) {
    let mut told = 0;
    while let Some(inner) = ledger.upgrade() {
        let sent = inner.coalescer.link().counts().scripts_sent;
        drop(inner);
        let is_new = sent > told;
        if is_new {
            tracing::debug!(times = sent - told, "the shared store did not know a script; it was sent");
            told = sent;
        }
        tokio::time::sleep(if is_new { SCRIPTS_QUIET } else { SCRIPTS_PERIOD }).await;
    }
}

fn names(servers: &[Address]) -> String {
    let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DialError;

    #[test]
    fn every_change_is_said_once() {
        let server = |port| LinkStatus::Connected(vec![Address::Tcp("store".to_owned(), port)]);
        let down =
            || LinkStatus::Down(Arc::new(DialError::Closed { address: Address::Tcp("store".to_owned(), 1) }));
        let mut said = Said::default();
        let mut line = |status| said.change(&status);
        assert_eq!(line(LinkStatus::Connecting), None);
        assert_eq!(line(down()), Some(Line::Down));
        assert_eq!(line(down()), None);
        assert_eq!(line(server(1)), Some(Line::Connected));
        assert_eq!(line(LinkStatus::Connecting), None);
        assert_eq!(line(server(1)), None, "lost and found again at once");
        let from = vec![Address::Tcp("store".to_owned(), 1)];
        assert_eq!(line(server(2)), Some(Line::Moved { from }));
        assert_eq!(line(down()), Some(Line::Down));
        assert_eq!(line(server(2)), Some(Line::Connected));
    }
}
