//! A load generator: so many kept-alive connections, each with one request under way at any time (closed loop).
//!
//! Each connection comes from a loopback address of its own, which Linux allows: 127.0.0.1 is not the only client.

use std::net::{Ipv4Addr, SocketAddr};

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpSocket;
use tokio::runtime::{self, Runtime};
use tokio::task::JoinSet;

use crate::problem::Problem;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Open connections to one server.
pub(crate) struct Load {
    senders: Vec<SendRequest<Body>>,
}

/// What drives every load: one thread, the caller's.
pub(crate) fn runtime() -> Result<Runtime, Problem> {
    let built = runtime::Builder::new_current_thread().enable_io().build();
    built.map_err(|error| Problem::failed(format!("no runtime for the load generator: {error}")))
}

impl Load {
    /// Connects from as many addresses.
    pub(crate) fn connect(runtime: &Runtime, server: SocketAddr, connections: u8) -> Result<Self, Problem> {
        let connected = runtime.block_on(async {
            let mut senders = Vec::new();
            for number in 1..=connections {
                senders.push(connect(Ipv4Addr::new(127, 0, 1, number), server).await?);
            }
            Ok(senders)
        });
        connected.map(|senders| Self { senders }).map_err(|error| failed(&error))
    }

    /// Sends so many requests over each connection; how many were admitted. Every other response than 200 and 429 is a failure.
    pub(crate) fn send(&mut self, runtime: &Runtime, requests_each: u32) -> Result<u32, Problem> {
        let senders = std::mem::take(&mut self.senders);
        let sent: Result<(Vec<_>, u32), Failure> = runtime.block_on(async {
            let mut running: JoinSet<_> =
                senders.into_iter().map(|sender| send_all(sender, requests_each)).collect();
            let (mut senders, mut admitted) = (Vec::new(), 0);
            while let Some(done) = running.join_next().await {
                let (sender, admitted_here) = done??;
                senders.push(sender);
                admitted += admitted_here;
            }
            Ok((senders, admitted))
        });
        let (senders, admitted) = sent.map_err(|error| failed(&error))?;
        self.senders = senders;
        Ok(admitted)
    }
}

async fn connect(from: Ipv4Addr, server: SocketAddr) -> Result<SendRequest<Body>, Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(socket.connect(server).await?)).await?;
    // Ends with its sender; what goes wrong is told to the request under way.
    drop(tokio::spawn(connection));
    Ok(sender)
}

async fn send_all(mut sender: SendRequest<Body>, requests: u32) -> Result<(SendRequest<Body>, u32), Failure> {
    let mut admitted = 0;
    for _ in 0..requests {
        let request = Request::get("/").header("host", "localhost").body(Body::empty())?;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        match response.status() {
            StatusCode::OK => admitted += 1,
            StatusCode::TOO_MANY_REQUESTS => {}
            other => return Err(format!("a response of {other}").into()),
        }
        response.into_body().collect().await?;
    }
    Ok((sender, admitted))
}

fn failed(error: &Failure) -> Problem {
    Problem::failed(format!("the load generator stopped: {error}"))
}
