//! How one connection is made: socket, TLS, login, and a first answer.
//!
//! The socket is ours and not the client's: without delay, over a TLS whose provider is given, and with a driver that we see ending.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{self, pki_types::ServerName};

use super::line::Line;
use super::{Address, DialError, Login};
use crate::{Reply, ServerError};

/// Calls that wait to be written to one socket.
const UNWRITTEN_MAX: usize = 256;

/// Makes connections, all in the same way.
#[derive(Clone)]
pub(crate) struct Dialer {
    pub(crate) info: RedisConnectionInfo,
    pub(crate) tls: Option<TlsConnector>,
    pub(crate) timeout: Duration,
}

/// A connection, and the task that reads and writes it; both end together.
pub(crate) struct Held {
    pub(crate) line: Line,
    pub(crate) driver: Driver,
}

/// The task of a connection. It ends when the connection does; dropped, it ends the connection.
pub(crate) struct Driver(JoinHandle<()>);

impl Driver {
    /// Waits until the connection is over.
    pub(crate) async fn ended(&mut self) {
        let _ = (&mut self.0).await;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Dialer {
    pub(crate) fn new(
        login: Option<&Login>,
        database: u32,
        tls: Option<TlsConnector>,
        timeout: Duration,
    ) -> Dialer {
        let mut info = RedisConnectionInfo::default().set_skip_set_lib_name().set_db(i64::from(database));
        if let Some(login) = login {
            info = info.set_password(login.password.reveal());
            if let Some(user) = &login.user {
                info = info.set_username(user);
            }
        }
        Dialer { info, tls, timeout }
    }

    /// A connection that has answered once. Takes at most the time-out.
    pub(crate) async fn dial(&self, address: &Address) -> Result<Held, DialError> {
        let is_handshaking = AtomicBool::new(false);
        let attempt = tokio::time::timeout(self.timeout, self.attempt(address, &is_handshaking));
        attempt.await.unwrap_or_else(|_| {
            let address = address.clone();
            if is_handshaking.load(Ordering::Relaxed) {
                // A server without TLS waits for the end of a line, and we for the rest of the handshake.
                Err(DialError::NotTls { address, problem: "it did not answer in time".to_owned() })
            } else {
                Err(DialError::TimedOut { address })
            }
        })
    }

    async fn attempt(&self, address: &Address, is_handshaking: &AtomicBool) -> Result<Held, DialError> {
        let unreachable = |error: std::io::Error| DialError::Unreachable {
            address: address.clone(),
            problem: error.to_string(),
        };
        match address {
            Address::Unix(path) => {
                self.greet(address, UnixStream::connect(path).await.map_err(unreachable)?).await
            }
            Address::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(unreachable)?;
                stream.set_nodelay(true).map_err(unreachable)?;
                match &self.tls {
                    None => self.greet(address, stream).await,
                    Some(tls) => {
                        let problem = |problem: String| DialError::Tls { address: address.clone(), problem };
                        let name =
                            ServerName::try_from(host.clone()).map_err(|error| problem(error.to_string()))?;
                        is_handshaking.store(true, Ordering::Relaxed);
                        let shaken = tls.connect(name, stream).await;
                        is_handshaking.store(false, Ordering::Relaxed);
                        let stream = shaken.map_err(|error| match problem(error.to_string()) {
                            DialError::Tls { address, problem } if is_no_tls(&error) => {
                                DialError::NotTls { address, problem }
                            }
                            untrusted => untrusted,
                        })?;
                        self.greet(address, stream).await
                    }
                }
            }
        }
    }

    async fn greet<S>(&self, address: &Address, stream: S) -> Result<Held, DialError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // The caller's deadline and the heartbeat bound every answer.
        let config =
            AsyncConnectionConfig::new().set_response_timeout(None).set_pipeline_buffer_size(UNWRITTEN_MAX);
        let greeted = MultiplexedConnection::new_with_config(&self.info, stream, config).await;
        let (connection, driver) = greeted.map_err(|error| match refusal(address, &error) {
            DialError::HungUp { .. } => self.hung_up(address),
            error => error,
        })?;
        let driver = spawn(driver);
        let line = Line { connection, address: Arc::new(address.clone()) };
        match line.first_answer().await {
            Ok(Reply::Error(said)) => match ServerError::of_message(&said) {
                // A user that may not PING may still run scripts; and even this is an answer.
                ServerError::NotAllowed(said) if said.starts_with("NOPERM") => Ok(Held { line, driver }),
                error => Err(DialError::Refused { address: address.clone(), error }),
            },
            Ok(_) => Ok(Held { line, driver }),
            Err(error) => Err(match refusal(address, &error) {
                DialError::HungUp { .. } => self.hung_up(address),
                error => error,
            }),
        }
    }

    /// The other side hung up before it answered.
    fn hung_up(&self, address: &Address) -> DialError {
        let address = address.clone();
        if self.tls.is_some() {
            // A certificate of ours is asked for, and missed, only after the handshake.
            let problem = "it closed the connection; show it who we are with ?cert=FILE&key=FILE".to_owned();
            DialError::Tls { address, problem }
        } else {
            DialError::HungUp { address }
        }
    }
}

/// Whether what came in place of a handshake is none.
fn is_no_tls(error: &std::io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidMessage(_)))
}

fn spawn(driver: impl Future<Output = ()> + Send + 'static) -> Driver {
    Driver(tokio::spawn(driver))
}

/// What a failed greeting means.
fn refusal(address: &Address, error: &RedisError) -> DialError {
    let address = address.clone();
    let said = error.code().map(|code| format!("{code} {}", error.detail().unwrap_or_default()));
    match (error.kind(), said) {
        (ErrorKind::AuthenticationFailed, said) => {
            let said =
                said.or_else(|| error.detail().map(str::to_owned)).unwrap_or_else(|| error.to_string());
            DialError::Refused { address, error: ServerError::NotAllowed(said) }
        }
        (_, Some(said)) => DialError::Refused { address, error: ServerError::of_message(&said) },
        (ErrorKind::Io, None) => DialError::HungUp { address },
        (_, None) => DialError::NotRedis { address, problem: error.to_string() },
    }
}
