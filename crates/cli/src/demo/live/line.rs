//! A connection to the HTTP door that is kept open, and made anew when it is gone.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::tally::Told;

/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

/// One client's connection.
pub(super) struct Line {
    address: String,
    sender: Option<SendRequest<Full<Bytes>>>,
}

/// What came back.
pub(super) struct Answer {
    pub(super) told: Told,
    /// How long a denied client is to wait.
    pub(super) retry_after: Option<Duration>,
}

impl Line {
    /// To this door; it is not connected yet.
    pub(super) fn to(address: &str) -> Line {
        Line { address: address.to_owned(), sender: None }
    }

    /// Asks one question; on an error the connection is given up, and made anew for the next.
    pub(super) async fn ask(&mut self, question: &Bytes) -> io::Result<Answer> {
        let answer = self.exchange(question).await;
        if answer.is_err() {
            self.sender = None;
        }
        answer
    }

    async fn exchange(&mut self, question: &Bytes) -> io::Result<Answer> {
        let mut sender = match self.sender.take() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let request = Request::builder()
            .method(Method::POST)
            .uri("/v1/check")
            .header(HOST, &self.address)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(question.clone()))
            .map_err(io::Error::other)?;
        sender.ready().await.map_err(io::Error::other)?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let told = if response.status() == StatusCode::OK { Told::Admitted } else { Told::Denied };
        let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        // To its end, so that the connection can be used again.
        Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await.map_err(io::Error::other)?;
        self.sender = Some(sender);
        Ok(Answer { told, retry_after: wait.map(Duration::from_secs) })
    }

    async fn connect(&self) -> io::Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // Ends with the sender, or when the other side closes.
        tokio::spawn(connection);
        Ok(sender)
    }
}
