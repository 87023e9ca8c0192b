//! Sockets that a service manager opened for us (`sd_listen_fds(3)`), each for one door.
//!
//! A socket's name says its door: `http`, or `tollgate-http.socket` as systemd names it unless told otherwise. One socket
//! without a name is for the HTTP door. Does not know what is done with them.

use std::fmt;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use listenfd::ListenFd;

use crate::door::Door;

/// One for each door.
const SOCKETS_MAX: usize = Door::ALL.len();

/// The sockets, by door.
#[derive(Debug, Default)]
pub(crate) struct PassedSockets(Vec<(Door, PassedSocket)>);

/// A socket that accepts connections already.
#[derive(Debug)]
pub(crate) enum PassedSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Why the sockets cannot be doors, with the cure.
#[derive(Debug, PartialEq, Eq)]
pub struct PassedError(String);

impl PassedSockets {
    /// Takes over what `LISTEN_FDS` counts and `LISTEN_FDNAMES` names, if `LISTEN_PID` says that it is for us. To be called
    /// once, while there is one thread.
    pub(crate) fn of_environment() -> Result<PassedSockets, PassedError> {
        let text = |name| std::env::var(name).unwrap_or_default();
        let is_for_us = text("LISTEN_PID") == std::process::id().to_string();
        if !is_for_us {
            return Ok(PassedSockets::default());
        }
        let doors = doors(&text("LISTEN_FDS"), &text("LISTEN_FDNAMES"))?;
        let mut sockets = ListenFd::from_env();
        let taken = (0..).zip(doors).map(|(index, door)| Ok((door, take(&mut sockets, index, door)?)));
        taken.collect::<Result<_, _>>().map(PassedSockets)
    }

    /// The socket of a door, if one was passed.
    pub(crate) fn take(&mut self, door: Door) -> Option<PassedSocket> {
        let index = self.0.iter().position(|(passed, _)| *passed == door)?;
        Some(self.0.swap_remove(index).1)
    }
}

fn take(sockets: &mut ListenFd, index: usize, door: Door) -> Result<PassedSocket, PassedError> {
    if let Ok(Some(listener)) = sockets.take_tcp_listener(index) {
        return Ok(PassedSocket::Tcp(listener));
    }
    if let Ok(Some(listener)) = sockets.take_unix_listener(index) {
        return Ok(PassedSocket::Unix(listener));
    }
    let why = format!(
        "the socket that was passed for the {door} door accepts no connections; use ListenStream= in its socket unit, with Accept=no"
    );
    Err(PassedError(why))
}

/// The door of each socket, in order.
fn doors(count: &str, names: &str) -> Result<Vec<Door>, PassedError> {
    let cure = "pass one socket for each door, named http, resp, admin or metrics by FileDescriptorName= in its socket unit";
    let count = count.parse().ok().filter(|count| (1..=SOCKETS_MAX).contains(count)).ok_or_else(|| {
        PassedError(format!("LISTEN_FDS is '{count}', no number from 1 to {SOCKETS_MAX}; {cure}"))
    })?;
    if names.is_empty() && count == 1 {
        return Ok(vec![Door::Http]);
    }
    let words: Vec<&str> = names.split(':').collect();
    if words.len() != count {
        return Err(PassedError(format!("LISTEN_FDNAMES is '{names}', but LISTEN_FDS is {count}; {cure}")));
    }
    let mut doors = Vec::with_capacity(count);
    for name in words {
        let short = name.strip_suffix(".socket").unwrap_or(name);
        let short = short.strip_prefix("tollgate-").unwrap_or(short);
        let door = Door::ALL.into_iter().find(|door| door.name() == short);
        match door {
            Some(door) if doors.contains(&door) => {
                return Err(PassedError(format!("two sockets were passed for the {door} door; {cure}")));
            }
            Some(door) => doors.push(door),
            None => {
                return Err(PassedError(format!(
                    "a socket was passed with the name '{name}', which is no door; {cure}"
                )));
            }
        }
    }
    Ok(doors)
}

impl fmt::Display for PassedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PassedError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_for_the_door_that_its_name_says() {
        assert_eq!(doors("1", ""), Ok(vec![Door::Http]));
        assert_eq!(doors("1", "resp"), Ok(vec![Door::Resp]));
        assert_eq!(
            doors("2", "tollgate-admin.socket:tollgate-http.socket"),
            Ok(vec![Door::Admin, Door::Http])
        );
    }

    #[test]
    fn sockets_that_are_no_doors_are_refused_with_their_cure() {
        for (count, names, said) in [
            ("", "", "LISTEN_FDS is ''"),
            ("0", "", "LISTEN_FDS is '0'"),
            ("99999999999999", "", "LISTEN_FDS is '99999999999999'"),
            ("2", "", "LISTEN_FDNAMES is '', but LISTEN_FDS is 2"),
            ("2", "http", "LISTEN_FDNAMES is 'http', but LISTEN_FDS is 2"),
            ("2", "http:http", "two sockets were passed for the http door"),
            ("1", "unknown", "the name 'unknown', which is no door"),
        ] {
            let PassedError(why) = doors(count, names).unwrap_err();
            assert!(why.contains(said) && why.contains("FileDescriptorName="), "{why}");
        }
    }
}
