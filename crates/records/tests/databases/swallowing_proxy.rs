//! A network between us and the server that swallows everything, as a cable that was pulled: nobody is told that a connection is gone.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A proxy. What it carries while it is cut never arrives, and connections of that time stay open and silent for ever.
pub(crate) struct SwallowingProxy {
    pub(crate) port: u16,
    /// How often it was cut or mended: odd is cut.
    cuts: Arc<watch::Sender<u32>>,
}

impl SwallowingProxy {
    /// Before a server at this port.
    pub(crate) async fn before(server: u16) -> SwallowingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let cuts = Arc::new(watch::Sender::new(0));
        let counted = Arc::clone(&cuts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, counted.subscribe()));
            }
        });
        SwallowingProxy { port, cuts }
    }

    /// Cuts it, or mends it for connections to come.
    pub(crate) fn turn(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn carry(mut client: TcpStream, server: u16, mut cuts: watch::Receiver<u32>) {
    let begun = *cuts.borrow_and_update();
    let is_cut = !begun.is_multiple_of(2);
    if is_cut {
        return std::future::pending().await;
    }
    let mut server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
    let (mut up, mut down) = ([0; 8_192], [0; 8_192]);
    loop {
        tokio::select! {
            biased;
            _ = cuts.changed() => break,
            read = client.read(&mut up) => match read {
                Ok(bytes @ 1..) => server.write_all(&up[..bytes]).await.unwrap(),
                _ => return,
            },
            read = server.read(&mut down) => match read {
                Ok(bytes @ 1..) => client.write_all(&down[..bytes]).await.unwrap_or_default(),
                _ => return,
            },
        }
    }
    // Neither end is told.
    std::future::pending::<()>().await;
}
