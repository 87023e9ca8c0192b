//! A door that is open: a socket that accepts connections.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixSocket, UnixStream, lookup_host};

use crate::address::Address;
use crate::door::Door;
use crate::passed_sockets::PassedSocket;

/// Connections that wait to be accepted. The system lowers it to its own maximum (`net.core.somaxconn`).
///
/// Beyond it the system drops connection requests, and a client tries again after a second: longer than a proxy waits.
const BACKLOG_MAX: u32 = 4_096;

/// A socket that accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        /// Removed when the door closes, unless somebody else made it.
        _file: Option<SocketFile>,
    },
}

/// One connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream, IpAddr),
    Unix(UnixStream),
}

impl Stream {
    /// The peer's address; `None` on a Unix socket.
    pub(crate) const fn peer(&self) -> Option<IpAddr> {
        match self {
            Stream::Tcp(_, peer) => Some(*peer),
            Stream::Unix(_) => None,
        }
    }
}

/// The file of a Unix socket; removed when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

/// A door that cannot be opened.
#[derive(Debug)]
pub struct BindError {
    door: Door,
    address: Address,
    error: io::Error,
}

impl Listener {
    /// Opens a door, and says where it is: with the port that was free, if any was asked for. `None` if it is to stay shut.
    pub(crate) async fn bind(door: Door, address: &Address) -> Result<Option<(Listener, String)>, BindError> {
        let bound = match address {
            Address::Off => return Ok(None),
            Address::Tcp { host, port } => tcp(host, *port).await,
            Address::Unix(path) => unix(path).map(|listener| (listener, address.to_string())),
        };
        bound.map(Some).map_err(|error| BindError { door, address: address.clone(), error })
    }

    /// A door that the service manager opened, and where it is.
    pub(crate) fn passed(socket: PassedSocket) -> io::Result<(Listener, String)> {
        match socket {
            PassedSocket::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?.to_string();
                Ok((Listener::Tcp(TcpListener::from_std(listener)?), address))
            }
            PassedSocket::Unix(listener) => {
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?;
                let address = address
                    .as_pathname()
                    .map_or("unix:".to_owned(), |path| format!("unix:{}", path.display()));
                Ok((Listener::Unix { listener: UnixListener::from_std(listener)?, _file: None }, address))
            }
        }
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // An answer is one small write: waiting for more to send would only delay it.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream, peer.ip()))
            }
            Listener::Unix { listener, .. } => {
                listener.accept().await.map(|(stream, _)| Stream::Unix(stream))
            }
        }
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<(Listener, String)> {
    let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in lookup_host((host, port)).await? {
        match tcp_at(address) {
            Ok(listener) => {
                let address = listener.local_addr()?.to_string();
                return Ok((Listener::Tcp(listener), address));
            }
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn tcp_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG_MAX)
}

fn unix(path: &Path) -> io::Result<Listener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    // What a program that crashed left behind is in nobody's use.
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    let listener = socket.listen(BACKLOG_MAX)?;
    Ok(Listener::Unix { listener, _file: Some(SocketFile(path.to_owned())) })
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have removed it before.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BindError { door, address, error } = self;
        let cure = match error.kind() {
            io::ErrorKind::AddrInUse => "it is taken; end what uses it, or choose another",
            io::ErrorKind::PermissionDenied => "it is not permitted; choose another",
            _ => "choose another",
        };
        write!(f, "cannot open the {door} door at {address}: {error}; {cure} with --{door} (or --{door} off)")
    }
}

impl std::error::Error for BindError {}

#[cfg(test)]
mod tests {
    use std::net::TcpStream as BlockingStream;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_burst_of_connections_waits_to_be_accepted() {
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
        let (_listener, address) = Listener::bind(Door::Http, &address).await.unwrap().unwrap();
        let address: SocketAddr = address.parse().unwrap();
        // Nothing is accepted. A dropped connection request would be repeated after a second.
        let connect = || BlockingStream::connect_timeout(&address, Duration::from_millis(900)).unwrap();
        let streams: Vec<BlockingStream> = (0..500).map(|_| connect()).collect();
        assert_eq!(streams.len(), 500);
    }
}
