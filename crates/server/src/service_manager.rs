//! What the service manager is told, as `sd_notify(3)` has it: that we are ready, read the policy again, live, or stop.
//!
//! Promises never to wait for it, and to say nothing where there is none. Does not know why anything happens.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Who started us and wants to know how we are, if anybody does.
#[derive(Debug)]
pub(crate) struct ServiceManager(Option<(UnixDatagram, SocketAddr)>);

impl ServiceManager {
    /// The one that `NOTIFY_SOCKET` names.
    pub(crate) fn of_environment() -> ServiceManager {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return ServiceManager(None);
        };
        ServiceManager::at(&name).unwrap_or_else(|error| {
            let socket = name.to_string_lossy();
            tracing::warn!(%socket, %error, "the socket in NOTIFY_SOCKET cannot be used; the service manager is told nothing");
            ServiceManager(None)
        })
    }

    /// The one that listens at a path, or at an abstract name that is written with an `@` before it.
    fn at(name: &OsStr) -> io::Result<ServiceManager> {
        let address = match name.as_bytes() {
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            [b'@', name @ ..] => abstract_address(name)?,
            _ => {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "it is no path and no abstract name"));
            }
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(ServiceManager(Some((socket, address))))
    }

    /// The doors are open, or the policy has been read again. `status` is one line for people.
    pub(crate) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// The policy is being read again; `ready` says when that is done.
    pub(crate) fn reloading(&self) {
        self.tell("RELOADING=1\nSTATUS=reading the policy again");
    }

    /// How it goes, in one line.
    pub(crate) fn status(&self, status: &str) {
        self.tell(&format!("STATUS={status}"));
    }

    /// The doors close.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=finishing open requests");
    }

    /// We are alive. Said from among the tasks that serve connections, so that it is not said when those stand still.
    fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// Says for ever that we are alive, as often as the manager wants to hear it; at once if it does not.
    pub(crate) async fn keep_watchdog(&self) {
        let Some(pause) = watchdog_pause(|name| std::env::var(name).ok(), std::process::id()) else { return };
        loop {
            self.alive();
            tokio::time::sleep(pause).await;
        }
    }

    fn tell(&self, state: &str) {
        let Some((socket, address)) = &self.0 else { return };
        if let Err(error) = socket.send_to_addr(state.as_bytes(), address) {
            tracing::warn!(%error, state, "the service manager could not be told");
        }
    }
}

/// Half of the time after which the manager takes us for dead (`sd_watchdog_enabled(3)`), if it watches over us.
fn watchdog_pause(variable: impl Fn(&str) -> Option<String>, process: u32) -> Option<Duration> {
    let Ok(micros @ 1..) = variable("WATCHDOG_USEC")?.parse::<u64>() else {
        tracing::warn!(
            "WATCHDOG_USEC is no number of microseconds from 1; the service manager is not told that we live"
        );
        return None;
    };
    let is_for_us = variable("WATCHDOG_PID").is_none_or(|id| id.parse() == Ok(process));
    // A manager that wants to hear it all the time hears it every millisecond.
    is_for_us.then(|| Duration::from_micros(micros / 2).max(Duration::from_millis(1)))
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "abstract names are there on Linux alone"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_socket_is_refused_and_nobody_is_told() {
        assert!(ServiceManager::at(OsStr::new("notify.sock")).is_err());
        assert!(ServiceManager::at(OsStr::new("vsock:2:1")).is_err());
        assert!(ServiceManager::at(OsStr::from_bytes(&[b'/'; 200])).is_err());
        // Nobody listens there, and nothing happens.
        ServiceManager::at(OsStr::new("/nowhere/notify.sock")).unwrap().ready("");
        ServiceManager(None).stopping();
    }

    #[test]
    fn the_watchdog_is_fed_at_half_its_time_if_it_watches_over_us() {
        let pause = |usec: &str, pid: &str| {
            let variable = |name: &str| {
                let value = if name == "WATCHDOG_USEC" { usec } else { pid };
                Some(value.to_owned()).filter(|value| !value.is_empty())
            };
            watchdog_pause(variable, 7)
        };
        assert_eq!(pause("30000000", ""), Some(Duration::from_secs(15)));
        assert_eq!(pause("30000000", "7"), Some(Duration::from_secs(15)));
        assert_eq!(pause("1", "7"), Some(Duration::from_millis(1)));
        for (usec, pid) in [("", ""), ("", "7"), ("30000000", "8"), ("30000000", "x"), ("0", ""), ("-1", "")]
        {
            assert_eq!(pause(usec, pid), None, "{usec} {pid}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_abstract_name_is_told_too() {
        let name = format!("tollgate-test-{}", std::process::id());
        let manager = UnixDatagram::bind_addr(&abstract_address(name.as_bytes()).unwrap()).unwrap();
        ServiceManager::at(OsStr::new(&format!("@{name}"))).unwrap().ready("fine");
        let mut told = [0; 64];
        let bytes = manager.recv(&mut told).unwrap();
        assert_eq!(&told[..bytes], b"READY=1\nSTATUS=fine");
    }
}
