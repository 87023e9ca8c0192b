//! The express lane: plain questions of HTTP/1.1 are answered from the bytes as they lie there. Whoever asks anything else is
//! left to hyper, with all that was read, and stays with it.
//!
//! ```text
//!  bytes ─► plain ─► question ─► Told ─► bytes          what is said is what hyper would say
//! ```
//! Nothing is waited for in the lane but the next question: one that is not all there is none of ours.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

use super::STATUS_FIELD;
use super::answer::Told;
use super::plain::{self, Plain};
use super::problem::Problem;
use super::read_ahead::ReadAhead;
use crate::gatehouse::Gatehouse;
use crate::last_words;
use crate::turn::Turn;

/// Most bytes of room for answers that a connection keeps while it asks nothing.
const ANSWERS_KEPT_BYTES_MAX: usize = 4 * 1_024;

/// How a connection left the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// With something that is not for us, and has not been taken.
    Asking,
    /// It is over: it ended, was given up, or asked nothing when it was told to stop.
    Over,
}

/// Answers plain questions until something else comes.
pub(super) async fn serve<S>(
    gatehouse: &Gatehouse,
    stream: &mut ReadAhead<S>,
    heard: &AtomicBool,
    stop: &watch::Receiver<bool>,
) -> Left
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stopping = stop.clone();
    let mut stopped = std::pin::pin!(last_words::heard(&mut stopping));
    let (mut answers, turn) = (Answers::default(), Turn::default());
    loop {
        // While the program ends, hyper says with the answer that it is the last.
        while !*stop.borrow()
            && let Some(plain) = plain::read(stream.ahead())
        {
            answers.say(gatehouse, &plain).await;
            let bytes = plain.bytes;
            stream.consume(bytes);
            turn.spend(bytes);
        }
        if !answers.bytes.is_empty() {
            turn.spend(answers.bytes.len());
            heard.store(true, Ordering::Relaxed);
            if answers.send(stream).await.is_err() {
                return Left::Over;
            }
        }
        if !stream.ahead().is_empty() {
            return Left::Asking;
        }
        turn.end_if_over().await;
        // Whoever asks at the last moment is answered.
        let came = tokio::select! {
            biased;
            came = stream.more() => came,
            () = &mut stopped => return Left::Over,
        };
        if !matches!(came, Ok(1..)) {
            return Left::Over;
        }
    }
}

/// Answers that were not sent yet.
#[derive(Debug, Default)]
struct Answers {
    bytes: Vec<u8>,
    date: Date,
}

/// The date of answers, written once a second.
#[derive(Debug, Default)]
struct Date {
    /// Seconds since 1970.
    at: u64,
    text: String,
}

impl Answers {
    /// Answers a question, behind those before it.
    async fn say(&mut self, gatehouse: &Gatehouse, plain: &Plain<'_>) {
        let told = plain.question.answer(&gatehouse.engine, plain.body).await;
        let date = self.date.text_at(gatehouse.engine.limiter.wall_time());
        match told {
            Ok(told) => write_told(&mut self.bytes, &told, plain.always_200, date),
            Err(problem) => write_problem(&mut self.bytes, &problem, date),
        }
    }

    async fn send(&mut self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        stream.write_all(&self.bytes).await?;
        stream.flush().await?;
        self.bytes.clear();
        self.bytes.shrink_to(ANSWERS_KEPT_BYTES_MAX);
        Ok(())
    }
}

impl Date {
    fn text_at(&mut self, since_1970: std::time::Duration) -> &str {
        if self.at != since_1970.as_secs() || self.text.is_empty() {
            self.at = since_1970.as_secs();
            self.text = httpdate::fmt_http_date(std::time::UNIX_EPOCH + since_1970);
        }
        &self.text
    }
}

fn write_told(bytes: &mut Vec<u8>, told: &Told, always_200: bool, date: &str) {
    write_status(bytes, told.shown_status(always_200), told.shown_status(false));
    for (name, value) in told.fields.each() {
        // As hyper writes them.
        let begin = bytes.len();
        bytes.extend_from_slice(name.as_bytes());
        bytes[begin..].make_ascii_lowercase();
        write_parts(bytes, &[": ", value, "\r\n"]);
    }
    write_rest(bytes, told.media(), &told.json, date);
}

fn write_problem(bytes: &mut Vec<u8>, problem: &Problem, date: &str) {
    write_status(bytes, problem.status, problem.status);
    if let Some((name, value)) = &problem.header {
        write_parts(bytes, &[name, ": ", value, "\r\n"]);
    }
    write_rest(bytes, Problem::MEDIA, &problem.json(), date);
}

/// Writes the status line with `shown` and the status field with `decided`.
fn write_status(bytes: &mut Vec<u8>, shown: StatusCode, decided: StatusCode) {
    let reason = shown.canonical_reason().unwrap_or_default();
    let line = ["HTTP/1.1 ", shown.as_str(), " ", reason, "\r\n"];
    write_parts(bytes, &line);
    write_parts(bytes, &[STATUS_FIELD, ": ", decided.as_str(), "\r\n"]);
}

fn write_rest(bytes: &mut Vec<u8>, media: &str, body: &str, date: &str) {
    let mut digits = itoa::Buffer::new();
    let length = digits.format(body.len());
    let parts =
        ["content-type: ", media, "\r\ncontent-length: ", length, "\r\ndate: ", date, "\r\n\r\n", body];
    write_parts(bytes, &parts);
}

fn write_parts(bytes: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        bytes.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests;
