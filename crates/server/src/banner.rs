//! What is said at the start: the doors, the policy, and what to try.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use crate::door::Door;
use crate::engine::Engine;
use crate::filing;
use crate::policy_source::{EMBEDDED_POLICY, PolicySource};
use crate::settings::{LogForm, Settings, Store};
use crate::shared_store::standing;

/// What a shared store is for, whether it is there by now or not.
const HOLD: &str =
    "limits hold over all instances while it answers; else rules do what `on_store_failure` says";

/// Says on stderr what is served; where logs are for programs, in one record for each fact.
pub(crate) fn print(engine: &Engine, settings: &Settings, doors: &[(Door, String)]) {
    match settings.log {
        // If even that fails there is nobody to tell.
        LogForm::Text => drop(io::stderr().write_all(text(engine, settings, doors).as_bytes())),
        LogForm::Json => record(engine, settings, doors),
    }
}

fn record(engine: &Engine, settings: &Settings, doors: &[(Door, String)]) {
    for (door, address) in doors {
        tracing::info!(door = door.name(), address = as_url(*door, address), "the door is open");
    }
    let source = match engine.source() {
        PolicySource::Embedded => "embedded".to_owned(),
        PolicySource::File(path) => path.display().to_string(),
    };
    let rules = engine.limiter.policy().rules.len();
    tracing::info!(source, rules, hash = %engine.loaded().hash, "the policy is in force");
    match &settings.store {
        Store::Memory => {
            tracing::info!(store = "memory", max_keys = settings.max_keys, "limits hold per instance");
        }
        Store::Shared(url) => {
            tracing::info!(store = %url, standing = standing(engine.ledger.as_ref()), "{HOLD}");
        }
    }
    match &engine.records {
        None => tracing::info!(records = "off", "rules are those of the file; nothing is filed"),
        Some(records) => {
            tracing::info!(records = %records.url(), standing = filing::standing(&records.status()), "rules and orders of the database count");
        }
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "tollgate is ready");
}

fn text(engine: &Engine, settings: &Settings, doors: &[(Door, String)]) -> String {
    let mut text = format!("tollgate {} is ready\n", env!("CARGO_PKG_VERSION"));
    for (door, address) in doors {
        let (address, about) = (as_url(*door, address), about(*door));
        let _ = writeln!(text, "  {:<8}{address:<30} {about}", door.name());
    }
    let loaded = engine.loaded();
    let rules = engine.limiter.policy().rules.len();
    let _ = match engine.source() {
        PolicySource::Embedded => writeln!(
            text,
            "  policy  embedded: 5 per second and 10 at once for each client address; another with --policy FILE\n          {EMBEDDED_POLICY}"
        ),
        PolicySource::File(path) => writeln!(
            text,
            "  policy  {}: {rules} {} ({}); it is read again when it changes, and on SIGHUP",
            path.display(),
            if rules == 1 { "rule" } else { "rules" },
            loaded.hash
        ),
    };
    let _ = match &settings.store {
        Store::Memory => writeln!(
            text,
            "  store   memory, {} keys; limits hold per instance: two instances admit twice as much",
            settings.max_keys
        ),
        Store::Shared(url) => {
            writeln!(text, "  store   {url} ({}); {HOLD}", standing(engine.ledger.as_ref()))
        }
    };
    let _ = match &engine.records {
        None => writeln!(text, "  records off: rules are those of the file, and nothing is filed"),
        Some(records) => {
            writeln!(text, "  records {} ({})", records.url(), filing::standing(&records.status()))
        }
    };
    let http = doors.iter().find(|(door, _)| *door == Door::Http);
    if let Some((_, address)) = http {
        let target = match address.strip_prefix("unix:") {
            Some(path) => format!("--unix-socket {path} http://localhost/v1/check"),
            None => format!("http://{address}/v1/check"),
        };
        let _ = writeln!(text, "Try: curl -i -d '{{\"ip\": \"192.0.2.7\"}}' {target}");
    }
    text
}

fn as_url(door: Door, address: &str) -> String {
    if door.speaks_http() && !address.starts_with("unix:") {
        format!("http://{address}")
    } else {
        address.to_owned()
    }
}

const fn about(door: Door) -> &'static str {
    match door {
        Door::Http => "JSON, forward-auth, /livez, /readyz, /openapi.json",
        Door::Resp => "Redis protocol: CL.THROTTLE, TOLLGATE.CHECK",
        Door::Admin => "dashboard, /admin/v1, /metrics, /livez, /readyz",
        Door::Metrics => "/metrics, /livez, /readyz",
    }
}
