//! A real client: curl.

use std::process::Command;

use serde_json::Value;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Everything that came, if several requests were sent.
    pub(crate) all: String,
}

/// Runs curl with these arguments, once; the answer's header fields and body.
#[track_caller]
pub(crate) fn curl(arguments: &[&str]) -> Answer {
    let output = Command::new("curl")
        .args(["-sS", "-i", "--max-time", "30", "--noproxy", "*"])
        .args(arguments)
        .output();
    let output = output.unwrap_or_else(|error| panic!("curl: {error}; install it: apt-get install curl"));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Answer { status, headers, body: body.to_owned(), all: said.clone() }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
