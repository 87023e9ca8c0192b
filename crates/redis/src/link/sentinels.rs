//! Asks sentinels who is master. All are asked at once, so that one that is gone holds nobody up.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::dial::{Dialer, Held};
use super::{Address, DialError};
use crate::{Reply, ServerError};

/// Most replicas that are looked at.
const REPLICAS_MAX: usize = 16;

/// The sentinels of one service.
pub(crate) struct Sentinels {
    dialer: Arc<Dialer>,
    service: Arc<str>,
    all: Vec<Sentinel>,
    poll: Duration,
}

/// One of them, with its connection, if there is one.
struct Sentinel {
    address: Address,
    held: Option<Held>,
}

impl Sentinels {
    pub(crate) fn new(
        dialer: Arc<Dialer>,
        service: &str,
        addresses: &[Address],
        poll: Duration,
    ) -> Sentinels {
        let all = addresses.iter().map(|address| Sentinel { address: address.clone(), held: None }).collect();
        Sentinels { dialer, service: service.into(), all, poll }
    }

    /// Where the master may be: what most sentinels say first. Waits until a majority agrees, or all have answered or timed out.
    pub(crate) async fn masters(&mut self) -> Result<Vec<Address>, DialError> {
        let majority = self.all.len() / 2 + 1;
        let mut asked = JoinSet::new();
        for (index, sentinel) in self.all.iter_mut().enumerate() {
            let (dialer, service) = (Arc::clone(&self.dialer), Arc::clone(&self.service));
            let (address, held) = (sentinel.address.clone(), sentinel.held.take());
            asked.spawn(async move { (index, ask(&dialer, &service, &address, held).await) });
        }
        let mut votes: Vec<(Address, usize)> = Vec::new();
        let mut failure = None;
        while let Some(answer) = asked.join_next().await {
            let Ok((index, answer)) = answer else { continue };
            match answer {
                Ok((held, master)) => {
                    self.all[index].held = Some(held);
                    match votes.iter_mut().find(|(address, _)| *address == master) {
                        Some((_, count)) => *count += 1,
                        None => votes.push((master, 1)),
                    }
                }
                Err(error) => failure = Some(error),
            }
            if votes.iter().any(|(_, count)| *count >= majority) {
                break;
            }
        }
        if votes.is_empty() {
            return Err(failure.unwrap_or(DialError::NoSentinel { problem: "there are none".to_owned() }));
        }
        votes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Ok(votes.into_iter().map(|(address, _)| address).collect())
    }

    /// Where the replicas are, as the first sentinel that answers says. One that was promoted takes writes up to a second before the
    /// sentinels name it.
    pub(crate) async fn replicas(&self) -> Vec<Address> {
        for held in self.all.iter().filter_map(|sentinel| sentinel.held.as_ref()) {
            // `REPLICAS`, as releases before 7 spell it too.
            let words = ["SENTINEL", "SLAVES", &self.service];
            if let Ok(Ok(Reply::List(replicas))) =
                tokio::time::timeout(self.dialer.timeout, held.line.ask(&words)).await
            {
                return replicas.iter().filter_map(read_replica).take(REPLICAS_MAX).collect();
            }
        }
        Vec::new()
    }

    /// Asks every now and then, until most of those that answer name another master than this one.
    pub(crate) async fn moved_from(&mut self, current: &Address) {
        loop {
            tokio::time::sleep(self.poll).await;
            if self.masters().await.is_ok_and(|masters| masters.first() != Some(current)) {
                return;
            }
        }
    }
}

async fn ask(
    dialer: &Dialer,
    service: &str,
    address: &Address,
    held: Option<Held>,
) -> Result<(Held, Address), DialError> {
    let no_sentinel =
        |problem: &dyn std::fmt::Display| DialError::NoSentinel { problem: problem.to_string() };
    let held = match held {
        Some(held) => held,
        None => dialer.dial(address).await.map_err(|error| no_sentinel(&error))?,
    };
    let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", service];
    let answer = tokio::time::timeout(dialer.timeout, held.line.ask(&words)).await;
    match answer {
        Ok(Ok(Reply::List(words))) => match read_address(&words) {
            Some(master) => Ok((held, master)),
            None => Err(no_sentinel(&format_args!("{address} names no address"))),
        },
        Ok(Ok(Reply::Nothing)) => Err(DialError::UnknownService { service: service.to_owned() }),
        Ok(Ok(Reply::Error(said))) if said.contains("unknown command") => {
            Err(no_sentinel(&format_args!("{address} is none")))
        }
        Ok(Ok(Reply::Error(said))) => {
            Err(DialError::Refused { address: address.clone(), error: ServerError::of_message(&said) })
        }
        Ok(Ok(_)) => Err(no_sentinel(&format_args!("{address} is no sentinel"))),
        Ok(Err(error)) => Err(no_sentinel(&error)),
        Err(_) => Err(no_sentinel(&DialError::TimedOut { address: address.clone() })),
    }
}

/// One replica: names and values by turns.
fn read_replica(reply: &Reply) -> Option<Address> {
    let Reply::List(words) = reply else { return None };
    let value = |name: &[u8]| {
        let pair =
            words.chunks_exact(2).find(|pair| matches!(&pair[0], Reply::Bytes(known) if known == name))?;
        Some(pair[1].clone())
    };
    read_address(&[value(b"ip")?, value(b"port")?])
}

fn read_address(words: &[Reply]) -> Option<Address> {
    let [Reply::Bytes(host), Reply::Bytes(port)] = words else { return None };
    let (host, port) = (std::str::from_utf8(host).ok()?, std::str::from_utf8(port).ok()?);
    Address::told(&format!("{host}:{port}"))
}
