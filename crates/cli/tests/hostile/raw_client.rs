//! A client on a raw socket, from an address of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Longest wait for a reply. A subject that waits for more of an odd request gives none.
const REPLY_TIME_MAX: Duration = Duration::from_millis(1_500);
/// Longest head of a reply.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

/// A connection from 127.0.0.`client`.
pub(crate) async fn connect(port: u16, client: u8) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, client), 0)))?;
    let stream = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends these bytes on a connection of their own and returns the status of the reply; none if the connection is closed or silent.
pub(crate) async fn status_of(port: u16, client: u8, bytes: &[u8]) -> Option<u16> {
    let mut stream = connect(port, client).await.ok()?;
    // A subject may reply and close before it has read everything.
    let (mut read, mut write) = stream.split();
    let sending = async {
        let _ = write.write_all(bytes).await;
        std::future::pending::<()>().await;
    };
    let reading = async {
        let mut head = Vec::new();
        loop {
            if let Some(status) = final_status(&head) {
                return Some(status);
            }
            if head.len() > HEAD_BYTES_MAX || read.read_buf(&mut head).await.ok()? == 0 {
                return None;
            }
        }
    };
    tokio::select! {
        status = reading => status,
        () = sending => None,
        () = tokio::time::sleep(REPLY_TIME_MAX) => None,
    }
}

/// How a client ends its connection right after a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Leaving {
    /// Sends no more, and reads on.
    HalfClose,
    Close,
    Reset,
}

/// Sends these bytes on a connection of their own and leaves without waiting for the reply.
pub(crate) async fn send_and_leave(port: u16, client: u8, bytes: &[u8], leaving: Leaving) {
    let Ok(mut stream) = connect(port, client).await else { return };
    let _ = stream.write_all(bytes).await;
    match leaving {
        Leaving::HalfClose => {
            let _ = stream.shutdown().await;
            let mut reply = Vec::new();
            let reading = stream.read_to_end(&mut reply);
            let _ = tokio::time::timeout(REPLY_TIME_MAX, reading).await;
        }
        Leaving::Close => {}
        Leaving::Reset => stream.set_zero_linger().unwrap(),
    }
}

/// The status of the first reply that is not interim, if its head is whole.
fn final_status(mut bytes: &[u8]) -> Option<u16> {
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let status = std::str::from_utf8(bytes.get(9..12)?).ok()?.parse().ok()?;
        if status >= 200 {
            return Some(status);
        }
        bytes = &bytes[end..];
    }
}
