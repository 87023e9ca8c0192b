//! What is counted, as Prometheus reads it (O1).
//!
//! Promises that no key, path or client is ever a label: the series are as many as rules × verdicts × doors, and those of rules
//! that are no longer in force go away. A check costs a few additions.

mod checks;
mod durations;
mod gauges;
mod near_limit;
mod records;
mod spans;
mod store;
mod tokens;

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tollgate::Moment;
use tollgate::policy::Policy;

use crate::door::Door;
use crate::engine::Engine;
pub(crate) use checks::{Became, Checks};
pub(crate) use durations::DurationCounts;
use durations::Durations;
pub(crate) use near_limit::NearLimit;
pub(crate) use spans::{Lost, Spans};
pub(crate) use tokens::{TokenCounts, TokenResult};

type Labels = [(&'static str, &'static str); 1];

/// Every counter of the gatehouse.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) checks: Checks,
    pub(crate) near_limit: NearLimit,
    pub(crate) tokens: TokenCounts,
    durations: Durations,
    reloads: Family<Labels, Counter>,
    connections: Family<Labels, Counter>,
    shed: Family<Labels, Counter>,
    requests_shed: Family<Labels, Counter>,
    snapshots: Family<Labels, Counter>,
    wrong_passwords: Counter,
    pub(crate) spans: Spans,
}

/// What became of a snapshot, as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotEvent {
    /// Written.
    Saved,
    /// Not written.
    Failed,
    /// Continued from.
    Restored,
    /// No use, and set aside.
    Refused,
}

impl SnapshotEvent {
    const ALL: [SnapshotEvent; 4] =
        [SnapshotEvent::Saved, SnapshotEvent::Failed, SnapshotEvent::Restored, SnapshotEvent::Refused];

    const fn name(self) -> &'static str {
        match self {
            SnapshotEvent::Saved => "saved",
            SnapshotEvent::Failed => "failed",
            SnapshotEvent::Restored => "restored",
            SnapshotEvent::Refused => "refused",
        }
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("tollgate");
        let checks = Checks::registered(&mut registry);
        let near_limit = NearLimit::registered(&mut registry);
        let tokens = TokenCounts::registered(&mut registry);
        let durations = Durations::default();
        registry.register(
            "check_duration_seconds",
            "Time from a question to its verdict, in the engine; a pipelined batch counts once",
            durations.clone(),
        );
        let reloads = Family::<Labels, Counter>::default();
        registry.register(
            "policy_reloads",
            "Policies that came into force, or were refused",
            reloads.clone(),
        );
        let connections = Family::<Labels, Counter>::default();
        registry.register("connections", "Connections that were accepted", connections.clone());
        let shed = Family::<Labels, Counter>::default();
        registry.register(
            "connections_shed",
            "Connections turned away because the door was full",
            shed.clone(),
        );
        let snapshots = Family::<Labels, Counter>::default();
        registry.register("snapshots", "Snapshots by what became of them", snapshots.clone());
        for event in SnapshotEvent::ALL {
            let _ = snapshots.get_or_create(&[("result", event.name())]);
        }
        let requests_shed = Family::<Labels, Counter>::default();
        registry.register(
            "requests_shed",
            "Requests turned away because there was no room for them or their answers",
            requests_shed.clone(),
        );
        let wrong_passwords = Counter::default();
        registry.register(
            "resp_auth_failures",
            "Wrong passwords sent to the RESP listener by AUTH or HELLO",
            wrong_passwords.clone(),
        );
        let spans = Spans::registered(&mut registry);
        for result in ["ok", "refused"] {
            let _ = reloads.get_or_create(&[("result", result)]);
        }
        for door in Door::ALL {
            let _ = connections.get_or_create(&[("door", door.name())]);
            let _ = shed.get_or_create(&[("door", door.name())]);
            let _ = requests_shed.get_or_create(&[("door", door.name())]);
        }
        registry.register("build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        Metrics {
            registry,
            checks,
            near_limit,
            tokens,
            durations,
            reloads,
            connections,
            shed,
            requests_shed,
            snapshots,
            wrong_passwords,
            spans,
        }
    }

    /// Makes room for the rules of the policy that came into force, and forgets those of the one before.
    pub(crate) fn follow_policy(&self, policy: &Policy) {
        self.checks.follow_policy(policy);
        self.near_limit.follow_policy(policy);
    }

    /// Notes how long the engine took for one question, or for a batch of them.
    pub(crate) fn note_duration(&self, door: Door, from: Moment, to: Moment) {
        self.durations.note(door, to.since(from));
    }

    /// How long the engine took, by now.
    pub(crate) fn durations(&self) -> DurationCounts {
        self.durations.counts()
    }

    pub(crate) fn note_reload(&self, is_ok: bool) {
        self.reloads.get_or_create(&[("result", if is_ok { "ok" } else { "refused" })]).inc();
    }

    pub(crate) fn note_snapshot(&self, event: SnapshotEvent) {
        self.snapshots.get_or_create(&[("result", event.name())]).inc();
    }

    pub(crate) fn note_connection(&self, door: Door) {
        self.connections.get_or_create(&[("door", door.name())]).inc();
    }

    pub(crate) fn note_shed(&self, door: Door) {
        self.shed.get_or_create(&[("door", door.name())]).inc();
    }

    /// Counts wrong passwords of the RESP listener.
    pub(crate) fn note_wrong_passwords(&self, count: u32) {
        self.wrong_passwords.inc_by(count.into());
    }

    pub(crate) fn note_request_shed(&self, door: Door) {
        self.requests_shed.get_or_create(&[("door", door.name())]).inc();
    }
}

/// Everything as Prometheus reads it.
pub(crate) fn page(engine: &Arc<Engine>) -> Result<String, fmt::Error> {
    let mut text = String::new();
    encode(&mut text, &engine.metrics.registry)?;
    // What the limiter counts itself is read when it is asked for.
    let mut read = Registry::with_prefix("tollgate");
    gauges::register(engine, &mut read);
    records::register(engine, &mut read);
    if let Some(ledger) = &engine.ledger {
        store::register(ledger, &mut read);
    }
    let mut more = String::new();
    encode(&mut more, &read)?;
    let end = text.strip_suffix("# EOF\n").map_or(text.len(), str::len);
    text.truncate(end);
    text.push_str(&more);
    Ok(text)
}
