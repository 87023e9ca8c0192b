//! What became of spans: `tollgate_spans_exported_total` and `tollgate_spans_dropped_total`.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Labels;

/// Why a span did not reach the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// More came than could be sent.
    QueueFull,
    /// The collector was away, or refused the batch.
    ExportFailed,
    /// The collector took the batch but for this one.
    Rejected,
}

/// The counters of spans.
#[derive(Debug)]
pub(crate) struct Spans {
    exported: Counter,
    dropped: Family<Labels, Counter>,
}

impl Lost {
    const ALL: [Lost; 3] = [Lost::QueueFull, Lost::ExportFailed, Lost::Rejected];

    const fn name(self) -> &'static str {
        match self {
            Lost::QueueFull => "queue_full",
            Lost::ExportFailed => "export_failed",
            Lost::Rejected => "rejected",
        }
    }
}

impl Spans {
    pub(super) fn registered(registry: &mut Registry) -> Spans {
        let (exported, dropped) = (Counter::default(), Family::<Labels, Counter>::default());
        registry.register("spans_exported", "Spans that the collector took", exported.clone());
        registry.register("spans_dropped", "Spans that did not reach the collector", dropped.clone());
        for lost in Lost::ALL {
            let _ = dropped.get_or_create(&[("reason", lost.name())]);
        }
        Spans { exported, dropped }
    }

    pub(crate) fn exported(&self) -> &Counter {
        &self.exported
    }

    pub(crate) fn lost(&self, lost: Lost) -> Counter {
        self.dropped.get_or_create_owned(&[("reason", lost.name())])
    }
}
