//! In which form something is sent: JSON, which a form of a page cannot send.

use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;

use crate::http::{Problem, shown};

/// Refuses a body that is not said to be JSON.
pub(crate) fn check_media(head: &Parts) -> Result<(), Problem> {
    let mut types = head.headers.get_all(CONTENT_TYPE).iter();
    let (media, others) = (types.next(), types.next());
    let text = media.and_then(|media| media.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if others.is_none() && essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = format!("`Content-Type` is '{}'; send JSON, and say so with application/json", shown(text));
    let problem = Problem::field("Content-Type", detail);
    Err(problem.with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE).because("json_only"))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn only_json_is_json() {
        let is_json = |types: &[&str]| {
            let mut request = Request::builder();
            for media in types {
                request = request.header(CONTENT_TYPE, *media);
            }
            check_media(&request.body(()).unwrap().into_parts().0).is_ok()
        };
        assert!(is_json(&["application/json"]) && is_json(&["Application/JSON ; charset=utf-8"]));
        for types in [
            &[][..],
            &[""],
            &["text/plain"],
            &["text/plain; application/json"],
            &["application/x-www-form-urlencoded"],
            &["multipart/form-data; boundary=application/json"],
            &["application/json, text/plain"],
            &["application/json", "text/plain"],
        ] {
            assert!(!is_json(types), "{types:?}");
        }
    }
}
