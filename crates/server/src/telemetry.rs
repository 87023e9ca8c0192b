//! Traces, as OpenTelemetry has them (O1): a span for each request at the HTTP door, sent to a collector in the background.
//!
//! ```text
//!  OTEL_… ─► Plan ─► Telemetry: a span per request ─► queue, bounded ─► exporter ─► collector: OTLP, protobuf over HTTP
//! ```
//! Off unless the environment names a collector, and then nothing of this is there. Promises that a request never waits for the
//! collector, that what is lost is counted, and that no span has a key, a path or a client in it. The Redis protocol carries no
//! trace context and answers hundreds of checks at once: it has no spans.

mod collector;
mod endpoint;
mod exporter;
pub(crate) mod noted;
mod pairs;
mod parent;
mod plan;
mod queue;
mod request_span;
mod route;
mod sampling;
mod variables;

use std::sync::Arc;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::engine::Engine;
use collector::Collector;
use exporter::Exporter;
use plan::Plan;
use queue::Queue;
use variables::Variables;

/// Makes the spans of requests.
#[derive(Debug)]
pub(crate) struct Telemetry {
    tracer: SdkTracer,
    /// Whether callers may say which trace a request belongs to.
    takes_parents: bool,
}

/// Sends what [`Telemetry`] made, until it is told to end.
#[derive(Debug)]
pub(crate) struct Exporting {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Begins to trace, if the environment says so. What is wrong with it is logged, one line for each variable, and passed over.
pub(crate) fn begin(engine: &Arc<Engine>) -> Option<(Telemetry, Exporting)> {
    let mut variables = Variables::of_environment();
    let planned = Plan::of(&mut variables);
    for warning in variables.into_warnings() {
        tracing::warn!("{warning}");
    }
    let plan = planned?;
    let collector = match Collector::new(&plan) {
        Ok(collector) => collector,
        Err(why) => {
            tracing::warn!("nothing is traced: {why}");
            return None;
        }
    };
    tracing::info!(collector = %collector, sampler = plan.sampling.name, "requests are traced");
    let (sender, receiver) = mpsc::channel(plan.queue_max);
    let provider = SdkTracerProvider::builder()
        .with_span_processor(Queue::new(sender, &engine.metrics.spans))
        .with_sampler(plan.sampling.sampler.clone())
        .with_resource(plan.resource.clone())
        .build();
    let telemetry = Telemetry { tracer: provider.tracer("tollgate"), takes_parents: plan.takes_parents };
    let (stop, stops) = watch::channel(false);
    let exporter = Exporter::new(Arc::clone(engine), collector, &plan, receiver);
    let task = tokio::spawn(exporter.run(stops));
    Some((telemetry, Exporting { stop, task }))
}

impl Exporting {
    /// Sends what is left, as far as the collector takes it at once.
    pub(crate) async fn end(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}
