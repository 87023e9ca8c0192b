//! An admin door on a free port, with a database of its own, and a client that says what it is told.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use sqlx::{Connection as _, SqliteConnection};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tollgate::Limiter;
use tollgate_records::{
    Author, NewToken, Records, RecordsOptions, RecordsUrl, Role, Timestamp, ViolationLog, ViolationSettings,
};

use super::super::guard::Hosts;
use super::super::page::Files;
use crate::admin::Operations;
use crate::door::Door;
use crate::engine::Engine;
use crate::gatehouse::Gatehouse;
use crate::policy_source::{PolicySource, PolicyText};
use crate::settings::Playground;
use crate::token_file;

/// A policy with a rule for users and one for addresses.
pub(super) const POLICY: &str = "
rules:
  - {name: per-user, scope: user, limit_keys: [user], rate: 1/h, burst: 10}
  - {name: per-address, scope: ip, limit_keys: ['ip:address'], rate: 1/h, burst: 5}
";

/// An open door.
pub(super) struct TestDoor {
    pub(super) gatehouse: Arc<Gatehouse>,
    pub(super) records: Option<Records>,
    pub(super) violations: Option<ViolationLog>,
    listener: TcpListener,
    /// Ends every connection.
    pub(super) stop: watch::Sender<bool>,
    folder: Option<PathBuf>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: http::HeaderMap,
    pub(super) text: String,
}

/// A request in the making.
pub(super) struct Asking<'d> {
    door: &'d TestDoor,
    method: &'static str,
    path: String,
    peer: Option<IpAddr>,
    fields: Vec<(String, String)>,
    body: Option<String>,
}

/// Numbers that no other has had: for addresses and folders.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// An address of this machine that nobody else asks from, so that nobody's allowance is spent by another.
pub(super) fn local_peer() -> IpAddr {
    let [_, b, c, d] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    IpAddr::from([127, b, c, d])
}

/// An address of some other machine.
pub(super) fn other_peer() -> IpAddr {
    let [_, b, c, d] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    IpAddr::from([10, b, c, d])
}

/// How violations are noted unless told otherwise.
pub(super) fn usual() -> ViolationSettings {
    ViolationSettings::default()
}

impl TestDoor {
    /// With records in a file, and no token.
    pub(super) async fn open() -> TestDoor {
        TestDoor::open_with(Playground::SignedIn).await
    }

    /// The same with a playground for these.
    pub(super) async fn open_with(playground: Playground) -> TestDoor {
        let folder = std::env::temp_dir().join(format!(
            "tollgate-admin-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::create_dir_all(&folder).unwrap();
        let url = RecordsUrl::parse(&format!("sqlite:{}", folder.join("tollgate.db").display())).unwrap();
        let records = Records::open(&url, RecordsOptions::default()).unwrap();
        records.ready().await;
        TestDoor::of(Some(records), None, Some(folder), Files::default(), playground, &usual()).await
    }

    /// What somebody does to its records by hand.
    pub(super) async fn sql(&self, statement: &'static str) {
        let file = self.folder.as_ref().unwrap().join("tollgate.db");
        let mut connection = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }

    /// Without records; the settings may name a token.
    pub(super) async fn without_records(token: Option<&str>) -> TestDoor {
        TestDoor::with(None, token, None).await
    }

    pub(super) async fn with(
        records: Option<Records>,
        token: Option<&str>,
        folder: Option<PathBuf>,
    ) -> TestDoor {
        TestDoor::of(records, token, folder, Files::default(), Playground::SignedIn, &usual()).await
    }

    /// With a page of its own, without records.
    pub(super) async fn with_page(page: Files, token: Option<&str>) -> TestDoor {
        TestDoor::of(None, token, None, page, Playground::SignedIn, &usual()).await
    }

    /// Another instance with the same records, by connections of its own, whose log of violations is like this. The settings name a token.
    pub(super) async fn beside(&self, token: &str, settings: &ViolationSettings) -> TestDoor {
        let records = Records::open(self.records.as_ref().unwrap().url(), RecordsOptions::default()).unwrap();
        records.ready().await;
        TestDoor::of(Some(records), Some(token), None, Files::default(), Playground::SignedIn, settings).await
    }

    async fn of(
        records: Option<Records>,
        token: Option<&str>,
        folder: Option<PathBuf>,
        page: Files,
        playground: Playground,
        settings: &ViolationSettings,
    ) -> TestDoor {
        let text = PolicyText { name: "policy.yaml".to_owned(), text: POLICY.to_owned() };
        let engine = Engine::of(PolicySource::Embedded, text, Limiter::builder().keys_max(1_000), None);
        let mut gatehouse = Gatehouse::with_engine(engine.unwrap());
        let hosts = Hosts::new(["tollgate.test".to_owned()]);
        let token = token.map(crate::resp::Password::new);
        let violations = records.clone().map(|records| ViolationLog::new(Some(records), settings.clone()));
        let operations = Operations::new(
            Arc::clone(&gatehouse.engine),
            records.clone(),
            violations.clone(),
            token,
            hosts,
            256,
        );
        let file = folder.as_ref().map(|folder| token_file::path(folder, 1));
        let operations = operations.unwrap().with_playground(playground).with_start_token(file);
        gatehouse.operations = Arc::new(Operations { page, ..operations });
        gatehouse.operations.begin();
        TestDoor {
            gatehouse: Arc::new(gatehouse),
            records,
            violations,
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            stop: watch::Sender::new(false),
            folder,
        }
    }

    /// The same with less patience for those who say nothing.
    pub(super) fn with_patience(mut self, idle_timeout: Duration) -> TestDoor {
        let gatehouse = Arc::get_mut(&mut self.gatehouse);
        gatehouse.unwrap_or_else(|| panic!("somebody has come already")).idle_timeout = idle_timeout;
        self
    }

    /// A token of this role.
    pub(super) async fn token(&self, role: Role) -> String {
        self.token_until(role, None).await
    }

    pub(super) async fn token_until(&self, role: Role, expires_at: Option<Timestamp>) -> String {
        let records = self.records.as_ref().unwrap();
        let others = records.tokens().await.unwrap().iter().filter(|token| token.role == role).count();
        // No two that stand have one name.
        let name = if others == 0 { format!("some {role}") } else { format!("some {role} {others}") };
        let new = NewToken { name, role, expires_at };
        let made = records.create_token(&new, &Author::new("test")).await;
        made.unwrap().0.reveal().to_owned()
    }

    /// The cookie of somebody who signs in with a token.
    pub(super) async fn sign_in(&self, token: &str) -> String {
        let answer = self.post("/admin/v1/session", &serde_json::json!({})).token(token).expect(201).await;
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    /// The viewer token of this start.
    pub(super) fn start_token(&self) -> &str {
        self.gatehouse.operations.keyring.start_token()
    }

    /// Returns whether the viewer token of this start is in its file.
    pub(super) fn has_start_token_file(&self) -> bool {
        let path = token_file::path(self.folder.as_ref().unwrap(), 1);
        token_file::read(&path).unwrap().as_deref() == Some(self.start_token())
    }

    /// A request over a Unix socket, which may read without a token while there is none. [`Asking::from`] makes it one over TCP.
    pub(super) fn ask(&self, method: &'static str, path: &str) -> Asking<'_> {
        Asking { door: self, method, path: path.to_owned(), peer: None, fields: Vec::new(), body: None }
    }

    pub(super) fn get(&self, path: &str) -> Asking<'_> {
        self.ask("GET", path)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Asking<'_> {
        self.ask("POST", path).json(body)
    }

    /// A connection that seems to come from this address.
    pub(super) async fn connect(&self, peer: Option<IpAddr>) -> TcpStream {
        let address: SocketAddr = self.listener.local_addr().unwrap();
        let (theirs, ours) = tokio::join!(TcpStream::connect(address), self.listener.accept());
        let (gatehouse, stop) = (Arc::clone(&self.gatehouse), self.stop.subscribe());
        let ours = ours.unwrap().0;
        tokio::spawn(async move { crate::http::serve(&gatehouse, Door::Admin, ours, peer, stop).await });
        theirs.unwrap()
    }
}

impl Drop for TestDoor {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl Asking<'_> {
    pub(super) fn from(mut self, peer: Option<IpAddr>) -> Self {
        self.peer = peer;
        self
    }

    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn token(self, token: &str) -> Self {
        self.field("authorization", &format!("Bearer {token}"))
    }

    pub(super) fn json(self, body: &Value) -> Self {
        let mut asking = self.field("content-type", "application/json");
        asking.body = Some(body.to_string());
        asking
    }

    pub(super) fn body(mut self, body: &str) -> Self {
        self.body = Some(body.to_owned());
        self
    }

    /// The answer, once it is whole.
    pub(super) async fn answer(self) -> Answer {
        self.sent(true).await
    }

    /// The same without a body, which may have no end; unless it is refused.
    pub(super) async fn head(self) -> Answer {
        self.sent(false).await
    }

    async fn sent(self, is_whole: bool) -> Answer {
        let stream = self.door.connect(self.peer).await;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = http::Request::builder().method(self.method).uri(self.path);
        if !self.fields.iter().any(|(name, _)| name == "host") {
            request = request.header("host", "127.0.0.1:8082");
        }
        for (name, value) in &self.fields {
            request = request.header(name, value);
        }
        let body = Full::new(bytes::Bytes::from(self.body.unwrap_or_default()));
        let reply = sender.send_request(request.body(body).unwrap()).await.unwrap();
        let (head, body) = reply.into_parts();
        let bytes = if is_whole || !head.status.is_success() {
            body.collect().await.unwrap().to_bytes()
        } else {
            bytes::Bytes::new()
        };
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: head.status.as_u16(), headers: head.headers, text }
    }

    /// The answer, which is this status.
    #[track_caller]
    pub(super) fn expect(self, status: u16) -> impl Future<Output = Answer> {
        let place = std::panic::Location::caller();
        let what = format!("{} {}", self.method, self.path);
        async move {
            let answer = self.answer().await;
            assert_eq!(answer.status, status, "{place}: {what}: {}", answer.text);
            answer
        }
    }
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Why something was refused, in a word.
    pub(super) fn reason(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status, "{self:?}");
        json["reason"].as_str().unwrap_or_default().to_owned()
    }
}
