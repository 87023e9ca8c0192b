//! What is said at the start: the doors, the policy, and what to try.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;

use crate::admin::Offer;
use crate::door::Door;
use crate::engine::Engine;
use crate::filing;
use crate::policy_source::{EMBEDDED_POLICY, PolicySource};
use crate::settings::{LogForm, Settings, Store};
use crate::shared_store::standing;

/// What a shared store is for, whether it is there by now or not.
const HOLD: &str =
    "limits hold over all instances while it answers; else rules do what `on_store_failure` says";

/// How a token is made.
const CREATE: &str = "tollgate token create --role admin --name NAME";

/// Says on stderr what is served; where logs are for programs, in one record for each fact. `offer` is there while no token is configured.
/// Its viewer token is printed only if stderr is a terminal, and never in a record.
pub(crate) fn print(
    engine: &Engine,
    settings: &Settings,
    doors: &[(Door, String)],
    offer: Option<&Offer<'_>>,
) {
    match settings.log {
        LogForm::Text => {
            let mut text = text(engine, settings, doors);
            if let Some(offer) = offer {
                text.push_str(&sign_in(offer, doors, io::stderr().is_terminal()));
            }
            text.push_str(&try_this(doors));
            // If stderr cannot be written, the banner is dropped.
            drop(io::stderr().write_all(text.as_bytes()));
        }
        LogForm::Json => record(engine, settings, doors, offer),
    }
}

fn record(engine: &Engine, settings: &Settings, doors: &[(Door, String)], offer: Option<&Offer<'_>>) {
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
            let (max_keys, origin) = size(engine, settings);
            tracing::info!(
                store = "memory",
                max_keys,
                max_keys_from = origin,
                scope = "per instance",
                "store ready"
            );
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
    if let Some(offer) = offer {
        let file = offer.file.map(|file| file.display().to_string());
        tracing::info!(viewer_token_file = file, fix = CREATE, "no admin token configured");
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
            "  policy  built-in: 5/s, burst 10 per client (IPv4 address or IPv6 /64); use --policy FILE for your own\n          {EMBEDDED_POLICY}"
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
        Store::Memory => {
            let (max_keys, origin) = size(engine, settings);
            writeln!(
                text,
                "  store   memory ({max_keys} keys, {origin}). Limits apply per instance; use --store redis://… to share them"
            )
        }
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
    text
}

/// Says how to reach the admin API without a configured token: at a terminal with a link that signs in, else by the command that makes one.
fn sign_in(offer: &Offer<'_>, doors: &[(Door, String)], is_terminal: bool) -> String {
    let mut text = String::new();
    if let Some(token) = offer.token.filter(|_| is_terminal) {
        let _ = writeln!(text, "  sign in {}#sign-in={token}", page(doors));
        let _ = writeln!(
            text,
            "          with the viewer token of this start (read-only). For changes: `{CREATE}`"
        );
    } else {
        let _ = writeln!(text, "  sign in no token configured. Create one: `{CREATE}`");
    }
    if let Some(file) = offer.file {
        let _ = writeln!(text, "          commands of this user use the viewer token in {}", file.display());
    }
    text
}

/// Where the page is, for a browser on this machine.
fn page(doors: &[(Door, String)]) -> String {
    let address = doors.iter().find(|(door, _)| *door == Door::Admin).map_or("", |(_, address)| address);
    match address.parse::<SocketAddr>() {
        Ok(at) if at.ip().is_unspecified() => format!("http://127.0.0.1:{}/", at.port()),
        _ => format!("http://{address}/"),
    }
}

fn try_this(doors: &[(Door, String)]) -> String {
    let Some((_, address)) = doors.iter().find(|(door, _)| *door == Door::Http) else { return String::new() };
    let target = match address.strip_prefix("unix:") {
        Some(path) => format!("--unix-socket {path} http://localhost/v1/check"),
        None => format!("http://{address}/v1/check"),
    };
    format!("Try: curl -i -d '{{\"ip\": \"192.0.2.7\"}}' {target}\n")
}

/// Keys of each table, and where the number comes from.
fn size(engine: &Engine, settings: &Settings) -> (usize, String) {
    let max_keys = engine.limiter.limiter().stats().keys_max;
    let origin = settings.max_keys.to_string();
    if max_keys == settings.max_keys.keys {
        return (max_keys, origin);
    }
    (max_keys, format!("from the snapshot; {} without it ({origin})", settings.max_keys.keys))
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn token_is_shown_at_a_terminal_alone() {
        let offer = Offer { token: Some("tg_start_1"), file: Some(Path::new("/state/admin-8082.token")) };
        let doors = |address: &str| [(Door::Admin, address.to_owned())];
        let shown = sign_in(&offer, &doors("127.0.0.1:8082"), true);
        assert!(shown.contains("http://127.0.0.1:8082/#sign-in=tg_start_1\n"), "{shown}");
        let everywhere = sign_in(&offer, &doors("0.0.0.0:8082"), true);
        assert!(everywhere.contains("http://127.0.0.1:8082/#sign-in="), "{everywhere}");
        let piped = sign_in(&offer, &doors("127.0.0.1:8082"), false);
        assert!(!piped.contains("tg_start_1"), "{piped}");
        for text in [shown, piped] {
            assert!(
                text.contains("`tollgate token create") && text.contains("/state/admin-8082.token"),
                "{text}"
            );
        }
    }
}
