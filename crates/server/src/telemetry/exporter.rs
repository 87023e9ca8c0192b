//! Sends spans in batches, in the background. A collector that is away is asked again a few times; then the batch is lost, and
//! counted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::trace::SpanData;
use prost::Message;
use tokio::sync::{mpsc, watch};
use tollgate::{Moment, Span};

use super::collector::{Collector, Fault};
use super::plan::Plan;
use crate::engine::Engine;
use crate::metrics::Lost;

/// How long to wait before a batch is sent again, each time; after the last it is lost.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// Lines about the collector are at least this far apart.
const QUIET: Span = Span::from_secs(60);

/// The one who sends.
pub(super) struct Exporter {
    engine: Arc<Engine>,
    collector: Collector,
    resource: ResourceAttributesWithSchema,
    spans: mpsc::Receiver<SpanData>,
    batch_max: usize,
    delay: Duration,
    /// When it was last said that spans are lost, and how many were since.
    complained: Option<Moment>,
    unsaid: u64,
}

impl Exporter {
    pub(super) fn new(
        engine: Arc<Engine>,
        collector: Collector,
        plan: &Plan,
        spans: mpsc::Receiver<SpanData>,
    ) -> Exporter {
        Exporter {
            engine,
            collector,
            resource: ResourceAttributesWithSchema::from(&plan.resource),
            spans,
            batch_max: plan.batch_max,
            delay: plan.delay,
            complained: None,
            unsaid: 0,
        }
    }

    /// Sends until it is told to stop, then what is left.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut batch = Vec::new();
        loop {
            let is_over = self.gather(&mut batch, &mut stop).await;
            self.export(&mut batch, &mut stop).await;
            if is_over {
                break;
            }
        }
        self.spans.close();
        while self.spans.recv_many(&mut batch, self.batch_max).await > 0 {
            self.export(&mut batch, &mut stop).await;
        }
        if self.unsaid > 0 {
            tracing::warn!(spans = self.unsaid, "spans were lost at the end");
        }
    }

    /// Waits for a span, and then for others until there are enough or the first has waited long. Whether it is told to stop.
    async fn gather(&mut self, batch: &mut Vec<SpanData>, stop: &mut watch::Receiver<bool>) -> bool {
        let mut due = None;
        while batch.len() < self.batch_max {
            let room = self.batch_max - batch.len();
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return true,
                () = elapsed(due.as_mut()) => return false,
                more = self.spans.recv_many(batch, room) => if more == 0 { return true },
            }
            due.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.delay)));
        }
        false
    }

    /// Sends a batch, again if that may help. Whoever is told to stop does not wait.
    async fn export(&mut self, batch: &mut Vec<SpanData>, stop: &mut watch::Receiver<bool>) {
        let spans = batch.len() as u64;
        if spans == 0 {
            return;
        }
        let resource_spans = group_spans_by_resource_and_scope(std::mem::take(batch), &self.resource);
        let body = Bytes::from(ExportTraceServiceRequest { resource_spans }.encode_to_vec());
        let mut pauses = PAUSES.into_iter();
        loop {
            let fault = match self.collector.send(body.clone()).await {
                Ok(rejected) => return self.note_taken(spans, rejected.min(spans)),
                Err(fault) => fault,
            };
            let pause = pauses.next().filter(|_| fault.passes && !*stop.borrow());
            let Some(pause) = pause else { return self.note_lost(spans, &fault) };
            tokio::select! {
                () = tokio::time::sleep(fault.retry_after.unwrap_or(pause)) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
    }

    fn note_taken(&mut self, spans: u64, rejected: u64) {
        let counts = &self.engine.metrics.spans;
        counts.exported().inc_by(spans - rejected);
        if rejected > 0 {
            counts.lost(Lost::Rejected).inc_by(rejected);
            self.complain(rejected, "it takes others, and rejected these");
        }
    }

    fn note_lost(&mut self, spans: u64, fault: &Fault) {
        self.engine.metrics.spans.lost(Lost::ExportFailed).inc_by(spans);
        self.complain(spans, &fault.why);
    }

    /// Says that spans are lost, unless that was said a moment ago.
    fn complain(&mut self, spans: u64, why: &str) {
        self.unsaid = self.unsaid.saturating_add(spans);
        let now = self.engine.limiter.limiter().now();
        if self.complained.is_none_or(|last| now.since(last) >= QUIET) {
            tracing::warn!(collector = %self.collector, spans = self.unsaid, why, "spans are lost; requests are not");
            self.complained = Some(now);
            self.unsaid = 0;
        }
    }
}

/// Until the time has come, if there is one.
async fn elapsed(due: Option<&mut std::pin::Pin<Box<tokio::time::Sleep>>>) {
    match due {
        Some(due) => due.as_mut().await,
        None => std::future::pending().await,
    }
}
