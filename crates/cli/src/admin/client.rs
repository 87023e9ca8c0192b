//! One question to the admin door: a connection, a request, an answer. No redirects, no proxies, nothing kept open.
//!
//! Promises an end: connecting, the answer, and each piece of a long one have their time.

use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::admin_error::{AdminError, Fault};
use super::admin_url::{self, AdminUrl};
use super::problem_document::ProblemDocument;
use super::token::{NoToken, Token};
use super::{AdminFlags, Target};
use crate::problem::Problem;
use crate::serve;

/// Names the door in place of the flag.
const VARIABLE: &str = "TOLLGATE_ADMIN_URL";
/// How long a connection may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long an answer may take, and each piece of one that is copied.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(15);
/// Longest answer that is kept in memory, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// An admin door that can be asked.
#[derive(Debug)]
pub(crate) struct AdminDoor {
    runtime: Runtime,
    url: AdminUrl,
    authorization: Option<HeaderValue>,
    /// Where the viewer token of the server's start was looked for, if it is not there.
    missing_token_file: Option<PathBuf>,
}

impl AdminDoor {
    /// The door that flags and environment name. Nobody is asked yet.
    pub(crate) fn of(flags: &AdminFlags) -> Result<AdminDoor, Problem> {
        let variable = |name: &str| std::env::var(name).ok();
        let url = url_of(flags.admin_url.as_deref(), variable(VARIABLE).as_deref())?;
        let refused = |none: NoToken| AdminError::Setting { is_usage: none.is_usage, why: none.why };
        let mut token = Token::find(flags.token_file.as_deref(), variable).map_err(refused)?;
        let state_dir = || flags.state_dir.clone().or_else(serve::state_dir);
        let start_token_file = match token {
            None => state_dir().and_then(|folder| url.start_token_path(&folder)),
            Some(_) => None,
        };
        if let Some(path) = &start_token_file {
            token = Token::of_start(path).map_err(refused)?;
        }
        let missing_token_file = start_token_file.filter(|_| token.is_none());
        let authorization = token.and_then(|token| {
            let mut value = HeaderValue::from_str(&token.authorization()).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| AdminError::Silent { url: url.to_string(), fault: Fault::Connect(error) })?;
        Ok(AdminDoor { runtime, url, authorization, missing_token_file })
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> String {
        self.url.to_string()
    }

    /// Lets some time pass.
    pub(crate) fn wait(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    /// What is there.
    pub(crate) fn get(&self, target: &Target) -> Result<Value, AdminError> {
        self.json(self.request(Method::GET, target, None))
    }

    /// Does something: the body is JSON.
    pub(crate) fn post(&self, target: &Target, body: &impl Serialize) -> Result<Value, AdminError> {
        self.json(self.request(Method::POST, target, Some(&json_of(body)?)))
    }

    /// Removes something: the body is JSON.
    pub(crate) fn delete(&self, target: &Target, body: &impl Serialize) -> Result<Value, AdminError> {
        self.json(self.request(Method::DELETE, target, Some(&json_of(body)?)))
    }

    /// Copies what is there, however long it is, as the server wrote it. An error of writing is the inner one.
    pub(crate) fn copy(&self, target: &Target, to: &mut impl Write) -> Result<io::Result<()>, AdminError> {
        let request = self.request(Method::GET, target, None);
        self.runtime.block_on(self.exchange(request, async |response| {
            let mut body = response.into_body();
            while let Some(frame) = self.in_time(body.frame()).await? {
                let frame = frame.map_err(|error| self.broken(&error))?;
                if let Some(piece) = frame.data_ref()
                    && let Err(error) = to.write_all(piece)
                {
                    return Ok(Err(error));
                }
            }
            Ok(to.flush())
        }))
    }

    fn request(&self, method: Method, target: &Target, body: Option<&Bytes>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body.cloned().unwrap_or_default()));
        *request.method_mut() = method;
        // Every part of it is encoded.
        *request.uri_mut() = target.as_str().parse().unwrap_or_default();
        let fields = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(&self.url.authority()) {
            fields.insert(HOST, host);
        }
        fields.insert(USER_AGENT, HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION"))));
        fields.insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"));
        fields.insert(CONNECTION, HeaderValue::from_static("close"));
        if body.is_some() {
            fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(authorization) = &self.authorization {
            fields.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }

    /// The answer as JSON; nothing at all is `null`.
    fn json(&self, request: Request<Full<Bytes>>) -> Result<Value, AdminError> {
        let body =
            self.runtime.block_on(self.exchange(request, async |response| self.whole(response).await))?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|error| AdminError::Garbled(error.to_string()))
    }

    /// Sends the request and hands an answer that is no refusal to `take`.
    async fn exchange<T>(
        &self,
        request: Request<Full<Bytes>>,
        take: impl AsyncFnOnce(Response<Incoming>) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        let stream = self.connected().await?;
        let shaken = http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream));
        let (mut sender, connection) = self.in_time(shaken).await?.map_err(|error| self.broken(&error))?;
        let mut taken = pin!(async {
            let response = self.in_time(sender.send_request(request)).await?;
            let response = response.map_err(|error| self.broken(&error))?;
            if response.status().is_success() {
                return take(response).await;
            }
            let (status, fields) = (response.status(), response.headers());
            let retry_after_s = fields.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            let body = self.whole(response).await?;
            let title = status.canonical_reason().unwrap_or_default();
            let document = ProblemDocument::read(status.as_u16(), title, &body);
            let missing_token_file = self.missing_token_file.clone();
            let document = ProblemDocument { retry_after_s, missing_token_file, ..document };
            Err(AdminError::Refused(Box::new(document)))
        });
        tokio::select! {
            taken = &mut taken => return taken,
            // The other side may close as soon as it has said everything.
            _ = connection => {}
        }
        taken.await
    }

    /// All of an answer.
    async fn whole(&self, response: Response<Incoming>) -> Result<Bytes, AdminError> {
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
        match self.in_time(body).await? {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) => Err(self.silent(Fault::Broken(error.to_string()))),
        }
    }

    async fn connected(&self) -> Result<Box<dyn Stream>, AdminError> {
        let connecting = async {
            let (is_tls, host, port) = match &self.url {
                AdminUrl::Http { is_tls, host, port } => (*is_tls, host, *port),
                AdminUrl::Unix(path) => {
                    let stream = UnixStream::connect(path).await.map_err(Fault::Connect)?;
                    return Ok(Box::new(stream) as Box<dyn Stream>);
                }
            };
            let stream = TcpStream::connect((host.as_str(), port)).await.map_err(Fault::Connect)?;
            if !is_tls {
                return Ok(Box::new(stream) as Box<dyn Stream>);
            }
            let name = ServerName::try_from(host.clone()).map_err(|error| Fault::Tls(error.to_string()))?;
            let mut config = tollgate_server::tls_of_machine().map_err(Fault::Tls)?;
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            let shaken = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
            shaken
                .map(|stream| Box::new(stream) as Box<dyn Stream>)
                .map_err(|error| Fault::Tls(error.to_string()))
        };
        match timeout(CONNECT_TIME_MAX, connecting).await {
            Ok(connected) => connected.map_err(|fault| self.silent(fault)),
            Err(_) => Err(self.silent(Fault::Late(CONNECT_TIME_MAX.as_secs()))),
        }
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, AdminError> {
        let late = |_| self.silent(Fault::Late(ANSWER_TIME_MAX.as_secs()));
        timeout(ANSWER_TIME_MAX, work).await.map_err(late)
    }

    fn broken(&self, error: &hyper::Error) -> AdminError {
        self.silent(Fault::Broken(error.to_string()))
    }

    fn silent(&self, fault: Fault) -> AdminError {
        AdminError::Silent { url: self.url.to_string(), fault }
    }
}

/// What bytes go over.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

fn json_of(body: &impl Serialize) -> Result<Bytes, AdminError> {
    let text = serde_json::to_vec(body);
    text.map(Bytes::from).map_err(|error| AdminError::Setting { is_usage: false, why: error.to_string() })
}

fn url_of(flag: Option<&str>, variable: Option<&str>) -> Result<AdminUrl, AdminError> {
    let (origin, text) = match (flag, variable.filter(|text| !text.is_empty())) {
        (Some(text), _) => ("--admin-url", text),
        (None, Some(text)) => (VARIABLE, text),
        (None, None) => ("--admin-url", admin_url::USUAL),
    };
    AdminUrl::parse(text).map_err(|why| {
        // What stands before an `@` may be a password.
        let shown = text.rsplit_once('@').map_or(text, |(_, place)| place);
        AdminError::Setting { is_usage: flag.is_some(), why: format!("{origin} is '{shown}': {why}") }
    })
}
