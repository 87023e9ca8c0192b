//! A collector of spans: takes OTLP over HTTP, as many connections as there are, and hands on what came.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::server::PATIENCE;

/// What the next request is told.
type Answer = dyn Fn() -> Option<String> + Send + Sync;

/// One that runs; what it was sent is in `exports`.
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    pub(crate) exports: Receiver<Export>,
}

/// One request to it.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) bytes: Vec<u8>,
}

impl Collector {
    /// Takes everything.
    pub(crate) fn new() -> Collector {
        Collector::answering(|_| Some("200 OK\r\ncontent-length: 0".to_owned()))
    }

    /// Answers the n-th request, from 0, with this status and head; never, where there is none.
    pub(crate) fn answering(answer: impl Fn(usize) -> Option<String> + Send + Sync + 'static) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, exports) = channel();
        let number = AtomicUsize::new(0);
        let answer: Arc<Answer> = Arc::new(move || answer(number.fetch_add(1, Ordering::SeqCst)));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, tell) = (Arc::clone(&answer), tell.clone());
                std::thread::spawn(move || serve(stream, &*answer, &tell));
            }
        });
        Collector { address, exports }
    }

    /// Sends spans of a server here, soon.
    pub(crate) fn set<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let endpoint = format!("http://{}", self.address);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "20")
    }

    /// The next export.
    #[track_caller]
    pub(crate) fn export(&self) -> Export {
        self.exports.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("nothing was exported"))
    }

    /// So many spans, in the order in which they ended, and the bytes they came in.
    #[track_caller]
    pub(crate) fn spans(&self, count: usize) -> (Vec<Span>, Vec<u8>) {
        let (mut spans, mut bytes) = (Vec::new(), Vec::new());
        while spans.len() < count {
            let export = self.export();
            spans.extend(export.spans());
            bytes.extend(export.bytes);
        }
        assert_eq!(spans.len(), count, "{spans:#?}");
        (spans, bytes)
    }

    /// Every span that it was sent so far.
    pub(crate) fn spans_so_far(&self) -> Vec<Span> {
        self.exports.try_iter().flat_map(|export| export.spans()).collect()
    }
}

impl Export {
    pub(crate) fn message(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(self.bytes.as_slice()).unwrap()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let scopes = self.message().resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

/// Attributes by name, as text.
pub(crate) fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    list.iter().map(|pair| (pair.key.clone(), text(&pair.value))).collect()
}

/// Attributes of a span, in one line.
pub(crate) fn told(span: &Span) -> String {
    let pairs = attributes(&span.attributes);
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Reads until the other side closes, also where it says nothing.
fn serve(stream: TcpStream, answer: &Answer, tell: &Sender<Export>) {
    let mut reader = BufReader::new(stream);
    while let Some(export) = read(&mut reader) {
        let _ = tell.send(export);
        let Some(said) = answer() else { continue };
        if reader.get_mut().write_all(format!("HTTP/1.1 {said}\r\n\r\n").as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Export> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let path = line.strip_prefix("POST ").unwrap().split(' ').next().unwrap().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut bytes = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut bytes).ok()?;
    Some(Export { path, headers, bytes })
}
