//! What is written to the log: no token, and no text that is more than text.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tollgate_records::Role;
use tracing_subscriber::fmt::MakeWriter;

use super::door::TestDoor;

/// A log that is read by the test.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[tokio::test]
async fn no_token_and_no_forged_line_is_ever_logged() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let _listening = tracing::subscriber::set_default(subscriber);
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let forged = "x\nforged line \u{1b}[2J";
    let made = json!({ "name": forged, "role": "operator" });
    let secret =
        door.post("/admin/v1/tokens", &made).token(&token).expect(201).await.json()["secret"].clone();
    let secret = secret.as_str().unwrap();
    let reset = json!({ "rule": "per-user", "key": format!("user:{forged}"), "reason": forged });
    door.post("/admin/v1/buckets/reset", &reset).token(secret).expect(200).await;
    door.post("/admin/v1/reload", &json!({ "reason": forged })).token(secret).expect(200).await;
    let order = json!({ "kind": "block", "who": format!("user:{forged}"), "reason": forged });
    door.post("/admin/v1/orders", &order).token(secret).expect(201).await;
    door.get("/admin/v1/status").token("tg_0123456789abcdef_some-wrong-secret").expect(401).await;
    let cookie = door.sign_in(secret).await;
    door.get("/admin/v1/status").field("cookie", &cookie).expect(200).await;
    door.get("/admin/v1/status").field("cookie", "tollgate_session_8082=some-wrong-cookie").expect(401).await;
    let id = cookie.split_once('=').unwrap().1;
    let text = log.text();
    assert!(text.contains("reset of a bucket") && text.contains("reloaded as asked"), "{text}");
    for hidden in [token.as_str(), secret, "some-wrong-secret", id, "some-wrong-cookie"] {
        let hidden = hidden.rsplit('_').next().unwrap();
        assert!(!text.contains(hidden), "{hidden} is in the log");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("forged")), "{text}");
}
