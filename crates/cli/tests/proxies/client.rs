//! The end client: curl, from an address of its own.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A request to be sent.
pub(crate) struct Ask<'a> {
    port: u16,
    client: u8,
    method: &'a str,
    target: &'a str,
    arguments: Vec<String>,
    seconds_max: u8,
}

/// What the client saw.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl<'a> Ask<'a> {
    /// From 127.0.0.`client`; 1 is the proxy's own machine, which the policy trusts.
    pub(crate) fn new(port: u16, client: u8, method: &'a str, target: &'a str) -> Ask<'a> {
        Ask { port, client, method, target, arguments: Vec::new(), seconds_max: 20 }
    }

    /// With another field, or one in place of curl's own.
    pub(crate) fn field(mut self, name: &str, value: &str) -> Ask<'a> {
        self.arguments.extend(["--header".to_owned(), format!("{name}: {value}")]);
        self
    }

    /// With what the file holds as its body.
    pub(crate) fn body(mut self, file: &Path) -> Ask<'a> {
        self.arguments.extend(["--data-binary".to_owned(), format!("@{}", file.display())]);
        self
    }

    /// Answered within so many seconds, or the test fails.
    pub(crate) fn within(mut self, seconds_max: u8) -> Ask<'a> {
        self.seconds_max = seconds_max;
        self
    }

    /// Sends it.
    #[track_caller]
    pub(crate) fn send(self) -> Answer {
        let Ask { port, client, method, target, arguments, seconds_max } = self;
        let mut curl = Command::new("curl");
        curl.args(["--disable", "--silent", "--show-error", "--include", "--http1.1"]);
        curl.args(["--max-time", &seconds_max.to_string()]);
        curl.args(["--noproxy", "*", "--interface", &format!("127.0.0.{client}")]);
        match method {
            "HEAD" => curl.arg("--head"),
            _ => curl.args(["--request", method]),
        };
        curl.args(arguments).args(["--request-target", target, &format!("http://127.0.0.1:{port}/")]);
        let output = curl.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{method} {target} ended with {}: {said}", output.status);
        Answer::parse(&String::from_utf8(output.stdout).unwrap())
    }
}

impl Answer {
    fn parse(mut text: &str) -> Answer {
        loop {
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let (line, fields) = head.split_once("\r\n").unwrap_or((head, ""));
            let status = line.split(' ').nth(1).unwrap().parse().unwrap();
            if status < 200 {
                text = body;
                continue;
            }
            let fields = fields.lines().map(|line| {
                let (name, value) = line.split_once(':').unwrap();
                (name.to_ascii_lowercase(), value.trim().to_owned())
            });
            return Answer { status, fields: fields.collect(), body: body.to_owned() };
        }
    }

    /// The value of a field, which occurs at most once.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let values: Vec<&str> =
            self.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str()).collect();
        assert!(values.len() <= 1, "{name} is there {} times: {self:#?}", values.len());
        values.first().copied()
    }

    /// The status, and which rule the client was told of.
    #[track_caller]
    pub(crate) fn denied_by(&self) -> (u16, String) {
        let json: Value = serde_json::from_str(&self.body).unwrap_or(Value::Null);
        (self.status, json["violated-policies"][0].as_str().unwrap_or_default().to_owned())
    }
}
