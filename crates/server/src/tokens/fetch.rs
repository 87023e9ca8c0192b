//! One question for a key set: a connection, a GET, an answer of status 200. No redirects, no proxies, nothing kept open.
//!
//! Promises an end within [`PATIENCE`], and at most [`KEY_BYTES_MAX`] bytes of body.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONNECTION, HOST, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tollgate::jwt::KEY_BYTES_MAX;

use super::endpoint::Endpoint;
use super::schedule;
use crate::trust;

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

/// What was fetched.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) text: String,
    /// How long it is good, by its own account.
    pub(super) max_age: Option<Duration>,
}

/// Why nothing was fetched.
#[derive(Debug)]
pub(super) enum FetchError {
    Late,
    Connect(io::Error),
    Name(Box<str>),
    Trust(String),
    Tls(io::Error),
    Broken(hyper::Error),
    Status(StatusCode),
    Body(Box<dyn Error + Send + Sync>),
    NotText,
}

/// Fetches a key set.
pub(super) async fn fetch(endpoint: &Endpoint) -> Result<Fetched, FetchError> {
    tokio::time::timeout(PATIENCE, get(endpoint)).await.unwrap_or(Err(FetchError::Late))
}

async fn get(endpoint: &Endpoint) -> Result<Fetched, FetchError> {
    let stream = TcpStream::connect((&*endpoint.host, endpoint.port)).await.map_err(FetchError::Connect)?;
    if !endpoint.is_tls {
        return exchange(endpoint, stream).await;
    }
    let host = endpoint.host.to_string();
    let name = ServerName::try_from(host).map_err(|_| FetchError::Name(endpoint.host.clone()))?;
    // Whom the machine trusts is read for every fetch and forgotten afterwards: fetches are minutes apart, and certificates change.
    let config = tokio::task::spawn_blocking(trust::tls_of_machine).await;
    let mut config = config.unwrap_or_else(|error| Err(error.to_string())).map_err(FetchError::Trust)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(FetchError::Tls)?;
    exchange(endpoint, stream).await
}

async fn exchange(
    endpoint: &Endpoint,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Fetched, FetchError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX);
    let (mut sender, connection) =
        builder.handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.map_err(FetchError::Broken)?;
    let request = Request::get(&*endpoint.target)
        .header(HOST, &*endpoint.authority)
        .header(ACCEPT, "application/jwk-set+json, application/json")
        .header(USER_AGENT, concat!("tollgate/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close")
        .body(Empty::new());
    // Parts of a URL that was parsed before.
    let request = request.map_err(|error| FetchError::Body(error.into()))?;
    let mut answer = pin!(async {
        let response = sender.send_request(request).await.map_err(FetchError::Broken)?;
        read(response).await
    });
    tokio::select! {
        fetched = &mut answer => return fetched,
        // The other side may close as soon as it has said everything.
        _ = connection => {}
    }
    answer.await
}

async fn read(response: Response<Incoming>) -> Result<Fetched, FetchError> {
    if response.status() != StatusCode::OK {
        return Err(FetchError::Status(response.status()));
    }
    let max_age = schedule::max_age(response.headers());
    let body = Limited::new(response.into_body(), KEY_BYTES_MAX).collect().await.map_err(FetchError::Body)?;
    let text = String::from_utf8(body.to_bytes().into()).map_err(|_| FetchError::NotText)?;
    Ok(Fetched { text, max_age })
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchError::Late => write!(f, "no answer within {} s", PATIENCE.as_secs()),
            FetchError::Connect(error) => write!(f, "cannot connect: {error}"),
            FetchError::Name(host) => write!(f, "`{host}` is no name that a certificate could have"),
            FetchError::Trust(why) => f.write_str(why),
            FetchError::Tls(error) => write!(f, "no trusted connection: {error}"),
            FetchError::Broken(error) => write!(f, "the answer is no HTTP: {}", innermost(error)),
            FetchError::Status(status) if status.is_redirection() => {
                write!(
                    f,
                    "the answer is {status}, which is not followed; write the address where the key set truly is"
                )
            }
            FetchError::Status(status) => write!(f, "the answer is {status}, not 200"),
            FetchError::Body(error) if error.is::<LengthLimitError>() => {
                write!(f, "the answer is longer than {KEY_BYTES_MAX} bytes; is it the right address?")
            }
            FetchError::Body(error) => write!(f, "the answer breaks off: {}", innermost(&**error)),
            FetchError::NotText => f.write_str("the answer is no text; is it the right address?"),
        }
    }
}

/// What lies behind an error, which is what helps.
fn innermost<'e>(mut error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    while let Some(source) = error.source() {
        error = source;
    }
    error
}
