//! A door that is open: a socket that accepts connections.

use std::io;
use std::net::IpAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::address::Address;
use crate::door::Door;
use crate::passed_sockets::PassedSocket;

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
    let listener = TcpListener::bind((host, port)).await?;
    let address = listener.local_addr()?.to_string();
    Ok((Listener::Tcp(listener), address))
}

fn unix(path: &Path) -> io::Result<Listener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    // What a program that crashed left behind is in nobody's use.
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
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
