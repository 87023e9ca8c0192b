//! Spans on their way to the exporter: as many as there is room for, the others are dropped and counted.

use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc;

use crate::metrics::{Lost, Spans};

/// Takes over spans that ended. Never waits.
#[derive(Debug)]
pub(super) struct Queue {
    spans: mpsc::Sender<SpanData>,
    dropped: Counter,
}

impl Queue {
    pub(super) fn new(spans: mpsc::Sender<SpanData>, counts: &Spans) -> Queue {
        Queue { spans, dropped: counts.lost(Lost::QueueFull) }
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.spans.try_send(span).is_err() {
            self.dropped.inc();
        }
    }

    /// The exporter is told to end by [`super::Exporting`].
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
