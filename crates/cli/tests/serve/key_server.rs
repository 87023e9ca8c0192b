//! A server of key sets, over HTTP or TLS, that says what it is told to and counts how often it was asked.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::server::PATIENCE;

/// A certificate of `localhost`, which is its own authority.
pub(crate) const CERTIFICATE: &[u8] =
    include_bytes!("../../../tower/tests/sockets/localhost.certificate.der");
const KEY: &[u8] = include_bytes!("../../../tower/tests/sockets/localhost.key.der");

/// An authority that has nothing to do with it.
pub(crate) const OTHER_AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBjzCCATWgAwIBAgIUeI3SXwEfkfEgXnK02KOnPbxPlQswCgYIKoZIzj0EAwIw\n\
HDEaMBgGA1UEAwwRQW5vdGhlciBhdXRob3JpdHkwIBcNMjYxMTE1MTU1NDQ4WhgP\n\
MjExOTEyMTgxNTU0NDhaMBwxGjAYBgNVBAMMEUFub3RoZXIgYXV0aG9yaXR5MFkw\n\
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEzuImmx4QyX5nVM2HqX7kUOh2jJyMyj1w\n\
wGOvCHf2S16wL8bNoDNNWfyktKniK6ZLEw+TWBlFoi8ZviI+UHtfsKNTMFEwHQYD\n\
VR0OBBYEFNLK8bpZiKMbNHQaNJ1QNJK6xejJMB8GA1UdIwQYMBaAFNLK8bpZiKMb\n\
NHQaNJ1QNJK6xejJMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIg\n\
Wc14i2pyTanQaXnbDDZdsCMcy5EgROhnIq/wTb8SofYCIQCU2k+IBMLF/rd4m6mG\n\
lQIfCt9cemYmFtsjTPoaWzUJow==\n\
-----END CERTIFICATE-----\n\
";

/// The server; it dies with the test.
pub(crate) struct KeyServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    asks: Receiver<String>,
}

struct Shared {
    /// Answers by path, head and all.
    answers: Mutex<HashMap<String, String>>,
    asked: AtomicUsize,
    is_dead: AtomicBool,
    tell: Mutex<Sender<String>>,
    tls: Option<Arc<ServerConfig>>,
}

/// An answer with this body.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

impl KeyServer {
    /// A server on a free port, which says this at `/jwks`.
    pub(crate) fn new(jwks: &str) -> KeyServer {
        KeyServer::at("127.0.0.1:0", jwks, false)
    }

    /// The same over TLS.
    pub(crate) fn over_tls(jwks: &str) -> KeyServer {
        KeyServer::at("127.0.0.1:0", jwks, true)
    }

    /// The same at this address.
    pub(crate) fn at(address: &str, jwks: &str, is_tls: bool) -> KeyServer {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asks) = channel();
        let shared = Arc::new(Shared {
            answers: Mutex::default(),
            asked: AtomicUsize::new(0),
            is_dead: AtomicBool::new(false),
            tell: Mutex::new(tell),
            tls: is_tls.then(tls),
        });
        let server = KeyServer { address, shared: Arc::clone(&shared), asks };
        server.say("/jwks", &ok(jwks));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if shared.is_dead.load(Ordering::SeqCst) {
                    break;
                }
                // How one asker fares is no other's affair.
                let _ = shared.answer(stream);
            }
        });
        server
    }

    /// A free address at which nobody answers yet.
    pub(crate) fn nowhere() -> String {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
    }

    pub(crate) fn say(&self, path: &str, answer: &str) {
        self.shared.answers.lock().unwrap().insert(path.to_owned(), answer.to_owned());
    }

    pub(crate) fn url(&self, path: &str) -> String {
        match self.shared.tls {
            Some(_) => format!("https://localhost:{}{path}", self.address.port()),
            None => format!("http://{}{path}", self.address),
        }
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// Waits until it is asked once more than was waited for; the head of the request.
    pub(crate) fn wait(&self) -> String {
        self.asks.recv_timeout(PATIENCE).unwrap()
    }
}

impl Shared {
    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        match &self.tls {
            None => self.answer_on(stream),
            Some(config) => {
                let connection = ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
                self.answer_on(StreamOwned::new(connection, stream))
            }
        }
    }

    fn answer_on(&self, stream: impl Read + Write) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let path = head.split(' ').nth(1).unwrap_or_default();
        let answer = self.answers.lock().unwrap().get(path).cloned();
        let answer =
            answer.unwrap_or_else(|| "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned());
        stream.get_mut().write_all(answer.as_bytes())?;
        stream.get_mut().flush()?;
        let _ = self.tell.lock().unwrap().send(head);
        Ok(())
    }
}

/// Nobody answers any more.
impl Drop for KeyServer {
    fn drop(&mut self) {
        self.shared.is_dead.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn tls() -> Arc<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key).unwrap())
}
