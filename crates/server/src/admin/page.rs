//! The page of the admin door: what a browser shows to whoever opens this door's address (O3).
//!
//! ```text
//!  path ─► Place: a screen, an asset, a file ─► Files: embedded, or none ─► gzip? known already? ─► fields of every page answer
//! ```
//! Promises that nothing of it needs a token and nothing of it is secret, that only names of the page are ever looked up, and that every answer
//! says that nothing from elsewhere may run in it ([`fields`]). What the page shows, it asks the admin API for.

mod encoding;
mod fields;
mod files;
mod place;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::{Body, Incoming};

pub(super) use self::files::{File, Files};
pub(crate) use self::place::is_for;
use self::place::{Keeping, Place};
use super::guard;
use crate::gatehouse::Gatehouse;
use crate::http::{Problem, Reply, ReplyBody, reply_text};

/// The screen of every path of the page: which one it is, the page reads from its address.
const INDEX: &str = "index.html";
/// What is shown instead by a program that was built without the page.
const ABSENT: &str = include_str!("page/absent.html");

/// Answers a request for the page.
pub(crate) async fn answer(
    gatehouse: &Arc<Gatehouse>,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
) -> Reply {
    let (head, _) = request.into_parts();
    let mut reply = match found(gatehouse, peer, &head).await {
        Ok(reply) => reply,
        Err(refused) => refused,
    };
    fields::put(reply.headers_mut());
    if head.method == Method::HEAD {
        reply = without_body(reply);
    }
    reply
}

async fn found(gatehouse: &Arc<Gatehouse>, peer: Option<IpAddr>, head: &Parts) -> Result<Reply, Reply> {
    let operations = &gatehouse.operations;
    guard::check_host(head, &operations.hosts).map_err(Problem::reply)?;
    guard::ask_for_page(head, peer, operations).await?;
    if ![Method::GET, Method::HEAD].contains(&head.method) {
        return Err(Problem::method("GET, HEAD").because("other_method").reply());
    }
    let place = Place::of(head.uri.path()).ok_or_else(|| nothing().reply())?;
    shown(operations.page, &place, &head.headers).ok_or_else(|| nothing().reply())
}

/// What is at a place, if anything is.
fn shown(files: Files, place: &Place<'_>, asked: &HeaderMap) -> Option<Reply> {
    let (name, keeping) = match *place {
        Place::Screen => (INDEX, Keeping::AskAgain),
        Place::File(name, keeping) => (name, keeping),
    };
    let Some(plain) = files.find(name) else {
        let is_absent = *place == Place::Screen;
        return is_absent.then(|| kept(reply_text("text/html; charset=utf-8", ABSENT), Keeping::AskAgain));
    };
    let pressed = encoding::takes_gzip(asked).then(|| files.find(&format!("{name}.gz"))).flatten();
    let is_pressed = pressed.is_some();
    let File { bytes, tag } = pressed.unwrap_or(plain);
    // The same page is another answer when it is compressed.
    let tag = format!("\"{tag}{}\"", if is_pressed { "-gzip" } else { "" });
    let is_known = knows(asked, &tag);
    let mut reply = reply_text(fields::media_of(name), if is_known { Bytes::new() } else { bytes });
    if is_known {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
    } else if is_pressed {
        reply.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        reply.headers_mut().insert(ETAG, tag);
    }
    Some(kept(reply, keeping))
}

fn kept(mut reply: Reply, keeping: Keeping) -> Reply {
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(keeping.field()));
    reply
}

/// Whether whoever asks has this very answer already.
fn knows(asked: &HeaderMap, tag: &str) -> bool {
    let known = asked.get_all(IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
    let mut known = known.flat_map(|known| known.split(',')).map(str::trim);
    known.any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

/// The answer to who only wants to know how long it is.
fn without_body(mut reply: Reply) -> Reply {
    if let Some(bytes) = reply.body().size_hint().exact().filter(|bytes| *bytes > 0) {
        reply.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    }
    reply.map(|_| ReplyBody::from(Bytes::new()))
}

fn nothing() -> Problem {
    let detail =
        "the page has nothing at this path; open / for the page, or see /admin/openapi.json".to_owned();
    Problem::new(StatusCode::NOT_FOUND, detail).because("unknown_path")
}
