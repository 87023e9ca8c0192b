//! What is true: settings that were read.

use std::path::PathBuf;
use std::time::Duration;

use tollgate::{KEYS_MAX, TableFull};
use tollgate_records::{RecordsUrl, ViolationSettings};

use super::{Known, Origin, Resolved, SettingsError, Store, Value};
use crate::address::Address;
use crate::memory_limit::MaxKeys;
use crate::resp::Password;

/// Most connections of one door.
const CONNECTIONS_MAX: usize = 1_000_000;
/// Longest time-out.
const TIMEOUT_MAX: Duration = Duration::from_hours(24);

/// Shortest password of the RESP listener, in bytes.
const PASSWORD_BYTES_MIN: usize = 8;
/// Shortest token of the admin door, in bytes.
const TOKEN_BYTES_MIN: usize = 20;
/// How tokens on record begin.
const RECORDED_TOKEN_PREFIX: &str = "tg_";
/// Longest.
const TOKEN_BYTES_MAX: usize = 512;
/// Most names of the admin door.
const HOSTS_MAX: usize = 16;
/// Longest, in bytes.
const HOST_BYTES_MAX: usize = 253;

/// Most charges that the sliding logs may remember together.
const LOG_ENTRIES_MAX: usize = 1_000_000_000;
/// Most often that the tables are saved.
const SNAPSHOT_EVERY_MIN: Duration = Duration::from_millis(100);

/// The settings of a gatehouse.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the buckets are.
    pub store: Store,
    /// Where rules, orders and violations are filed.
    pub records: RecordsUrl,
    /// Directory of state, for the file of a start's viewer token; `None` if the machine has none for us.
    pub state_dir: Option<PathBuf>,
    /// How denials are put on record.
    pub violations: ViolationSettings,
    /// The policy's file; without one, the embedded default policy.
    pub policy: Option<PathBuf>,
    /// Keys of each table: of the policy's buckets, and of buckets whose limits come with the call.
    pub max_keys: MaxKeys,
    /// Treatment of new clients when a table is full, for rules without their own mode.
    pub table_full: TableFull,
    /// Charges that the logs of exact sliding windows remember together, of rules that do not say.
    pub log_entries_max: usize,
    /// Where the tables are kept over restarts; nowhere without it.
    pub snapshot: Option<PathBuf>,
    /// How often they are saved there while the doors are open.
    pub snapshot_every: Duration,
    /// JSON and forward-auth.
    pub http: Address,
    /// The Redis protocol.
    pub resp: Address,
    /// Health and metrics.
    pub admin: Address,
    /// Health and metrics once more.
    pub metrics: Address,
    /// What clients of the Redis protocol must know.
    pub resp_password: Option<Password>,
    /// A token whose holder may do everything at the admin door, besides those on record.
    pub admin_token: Option<Password>,
    /// Names of the admin door, besides its addresses and `localhost`.
    pub admin_hosts: Vec<String>,
    /// Who may use the playground of the admin door.
    pub playground: Playground,
    /// Connections of each door; further ones are shed.
    pub max_connections: usize,
    /// How long an HTTP connection may say nothing, and how long any may take to say what it asks or to take the answer.
    pub idle_timeout: Duration,
    /// How long open requests may take when the program is to end.
    pub grace: Duration,
    /// How logs look.
    pub log: LogForm,
}

/// Who may have limits played through at the admin door.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Playground {
    /// Who may look at anything there.
    #[default]
    SignedIn,
    /// Whoever reaches the door.
    Open,
}

/// How logs look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Resolved {
    /// What is true, or the first value that cannot be.
    pub fn settings(&self) -> Result<Settings, SettingsError> {
        self.read("grpc", |text| match text {
            "off" => Ok(()),
            _ => Err("this build has no such door yet; use off".to_owned()),
        })?;
        let store = self.read("store", Store::parse)?;
        if let (Store::Shared(_), Some(value)) =
            (&store, self.value("snapshot").filter(|_| self.text("snapshot").is_some()))
        {
            let why = "the buckets are in the shared store, and not here to be saved; leave it out";
            return Err(SettingsError::value(&value.origin, "snapshot", &value.shown(), why));
        }
        let max_keys = self.read("max_keys", |text| match text {
            "auto" => Ok(MaxKeys::of_memory()),
            _ => {
                count(text, KEYS_MAX).map(MaxKeys::set).map_err(|why| why.replace("use a", "use auto, or a"))
            }
        })?;
        Ok(Settings {
            store,
            records: self.read("records", |url| RecordsUrl::parse(url).map_err(|error| error.to_string()))?,
            state_dir: self.text("state_dir").map(PathBuf::from),
            violations: self.violations()?,
            policy: self.text("policy").map(PathBuf::from),
            max_keys,
            table_full: self.read("table_full", |text| {
                let mode = TableFull::ALL.into_iter().find(|mode| mode.name() == text);
                mode.ok_or_else(|| "use inherit, deny_new or shared_overflow".to_owned())
            })?,
            log_entries_max: self.read("log_entries_max", |text| match text {
                "auto" => Ok(max_keys.log_entries()),
                _ => count(text, LOG_ENTRIES_MAX).map_err(|why| why.replace("use a", "use auto, or a")),
            })?,
            snapshot: self.text("snapshot").map(PathBuf::from),
            snapshot_every: self.read("snapshot_every", |text| {
                let every = span(text)?;
                if every < SNAPSHOT_EVERY_MIN { Err("use 100ms or more".to_owned()) } else { Ok(every) }
            })?,
            http: self.read("http", Address::parse)?,
            resp: self.read("resp", Address::parse)?,
            admin: self.read("admin", Address::parse)?,
            metrics: self.read("metrics", Address::parse)?,
            resp_password: self.resp_password()?,
            admin_token: self.admin_token()?,
            admin_hosts: self.read("admin_host", hosts)?,
            playground: self.read("playground", |text| match text {
                "signed-in" => Ok(Playground::SignedIn),
                "open" => Ok(Playground::Open),
                _ => Err("use signed-in or open".to_owned()),
            })?,
            max_connections: self.read("max_connections", |text| count(text, CONNECTIONS_MAX))?,
            idle_timeout: self.read("idle_timeout", span)?,
            grace: self.read("grace", span)?,
            log: self.read("log", |text| match text {
                "text" => Ok(LogForm::Text),
                "json" => Ok(LogForm::Json),
                _ => Err("use text or json".to_owned()),
            })?,
        })
    }

    fn resp_password(&self) -> Result<Option<Password>, SettingsError> {
        let Some(value) = self.value("resp_password") else { return Ok(None) };
        let Some(text) = value.text.as_deref() else { return Ok(None) };
        if text.len() >= PASSWORD_BYTES_MIN {
            return Ok(Some(Password::new(text)));
        }
        let why = format!(
            "the password has {} bytes; use at least {PASSWORD_BYTES_MIN}, for example the output of `openssl rand -hex 32`",
            text.len()
        );
        Err(SettingsError::value(&value.origin, "resp_password", &value.shown(), &why))
    }

    fn admin_token(&self) -> Result<Option<Password>, SettingsError> {
        let Some(value) = self.value("admin_token") else { return Ok(None) };
        let Some(text) = value.text.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
        if text.starts_with(RECORDED_TOKEN_PREFIX) {
            // It may be anybody's: commands find the token that they send in the same variable. There it is what it is on record.
            if matches!(value.origin, Origin::Environment { .. }) {
                return Ok(None);
            }
            let why = format!(
                "a token that begins with {RECORDED_TOKEN_PREFIX} is one on record, with a role of its own, and here its holder could do \
                 everything; leave it out, or use another, as `openssl rand -hex 32` prints it"
            );
            return Err(SettingsError::value(&value.origin, "admin_token", &value.shown(), &why));
        }
        let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if (TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_of_token) {
            return Ok(Some(Password::new(text)));
        }
        let why = format!(
            "use {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} letters and digits that nobody can guess, as `openssl rand -hex 32` prints them"
        );
        Err(SettingsError::value(&value.origin, "admin_token", &value.shown(), &why))
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.known.name == name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.value(name)?.text.as_deref().filter(|text| !text.is_empty())
    }

    pub(super) fn read<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, SettingsError> {
        let usual = Known::named(name).map_or("", |known| known.usual);
        let value = self.value(name);
        let text = value.and_then(|value| value.text.as_deref()).unwrap_or(usual);
        parse(text).map_err(|why| match value {
            Some(value) => SettingsError::value(&value.origin, name, &value.shown(), &why),
            None => SettingsError::value(&Origin::Default, name, text, &why),
        })
    }
}

/// Names of hosts, with commas between them.
fn hosts(text: &str) -> Result<Vec<String>, String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > HOSTS_MAX
        || !names.iter().all(|name| name.len() <= HOST_BYTES_MAX && name.chars().all(is_of_name))
    {
        return Err(format!(
            "use at most {HOSTS_MAX} names of hosts without ports, as in tollgate.internal,limits.example.com"
        ));
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// A whole number from 1 to `most`.
pub(super) fn count(text: &str, most: usize) -> Result<usize, String> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let number = digits.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("use a whole number from 1 to {most}"))
}

/// A time such as `500ms`, `60s` or `5m`.
fn span(text: &str) -> Result<Duration, String> {
    let read = || {
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let (digits, unit) = text.split_at(unit_at);
        let number: u64 = digits.parse().ok()?;
        let unit_ms = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        let span = Duration::from_millis(number.checked_mul(unit_ms)?);
        (!span.is_zero() && span <= TIMEOUT_MAX).then_some(span)
    };
    read().ok_or_else(|| "use a whole number with its unit, as in 500ms, 60s or 5m; at most 24h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_counts_are_read_or_refused_with_their_cure() {
        assert_eq!(span("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(span("5m"), Ok(Duration::from_mins(5)));
        for text in
            ["", "5", "0s", "-1s", "25h", "1.5s", "s", "99999999999999999999s", "18446744073709551615h"]
        {
            assert!(span(text).is_err(), "{text}");
        }
        assert_eq!(count("1_000", 1_000), Ok(1_000));
        for text in ["", "0", "1001", "-1", "many", "1.0"] {
            assert!(count(text, 1_000).is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_on_record_is_not_taken_for_the_one_of_the_settings() {
        let flagged = |token: &str| {
            let flags = [("admin_token", token.to_owned())];
            crate::settings::resolve(&flags, &[].into())
                .unwrap()
                .settings()
                .map(|settings| settings.admin_token)
        };
        let in_variable = |token: &str| {
            let environment = [("TOLLGATE_ADMIN_TOKEN".to_owned(), token.to_owned())].into();
            crate::settings::resolve(&[], &environment)
                .unwrap()
                .settings()
                .map(|settings| settings.admin_token)
        };
        let on_record = "tg_0123456789abcdef_0123456789abcdef";
        for settings in [&flagged as &dyn Fn(&str) -> _, &in_variable] {
            assert!(settings("0123456789abcdef0123456789abcdef").unwrap().is_some());
        }
        // Commands find their own there.
        assert!(in_variable(on_record).unwrap().is_none());
        let refused = flagged(on_record).unwrap_err().to_string();
        assert!(refused.contains("on record") && refused.contains("openssl rand"), "{refused}");
        assert!(!refused.contains(on_record), "{refused}");
    }
}
