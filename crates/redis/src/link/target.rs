//! Where a wire leads: a fixed place, or wherever sentinels say that the master is.

use super::dial::{Dialer, Held};
use super::sentinels::Sentinels;
use super::{Address, DialError};
use crate::Reply;

/// Where a wire leads.
pub(crate) enum Target {
    /// Always there. A name may lead elsewhere by and by.
    Fixed(Address),
    /// To the master of a service.
    Master(Sentinels),
}

impl Target {
    /// Connects to it; to a master only if it says that it is one.
    pub(crate) async fn dial(&mut self, dialer: &Dialer) -> Result<Held, DialError> {
        let sentinels = match self {
            Target::Fixed(address) => return dialer.dial(address).await,
            Target::Master(sentinels) => sentinels,
        };
        let mut failure = None;
        let masters = sentinels.masters().await?;
        for address in &masters {
            match dial_master(dialer, address).await {
                Ok(held) => return Ok(held),
                Err(error) => failure = Some(failure.unwrap_or(error)),
            }
        }
        // The sentinels know of a promotion before they tell of it.
        for address in sentinels.replicas().await.iter().filter(|address| !masters.contains(address)) {
            if let Ok(held) = dial_master(dialer, address).await {
                return Ok(held);
            }
        }
        Err(failure.unwrap_or(DialError::NoSentinel { problem: "none names a master".to_owned() }))
    }

    /// Ends when the sentinels say that the master is elsewhere; of a fixed place, never.
    pub(crate) async fn moved_from(&mut self, address: &Address) {
        match self {
            Target::Fixed(_) => std::future::pending().await,
            Target::Master(sentinels) => sentinels.moved_from(address).await,
        }
    }
}

async fn dial_master(dialer: &Dialer, address: &Address) -> Result<Held, DialError> {
    let held = dialer.dial(address).await?;
    let timed_out = DialError::TimedOut { address: address.clone() };
    let role = tokio::time::timeout(dialer.timeout, held.line.ask(&["ROLE"])).await.map_err(|_| timed_out)?;
    match role {
        Ok(Reply::List(words)) if matches!(words.first(), Some(Reply::Bytes(role)) if role == b"master") => {
            Ok(held)
        }
        // A user that may not ask: a replica gives itself away by READONLY.
        Ok(Reply::Error(said)) if said.starts_with("NOPERM") => Ok(held),
        _ => Err(DialError::NotMaster { address: address.clone() }),
    }
}
