//! The gatehouse of Tollgate: the doors through which other programs ask for verdicts.
//!
//! ```text
//!  Settings ─► serve ─┬─ http   JSON, forward-auth ─────┐
//!                     ├─ resp   CL.THROTTLE, …CHECK ────┼─► Engine: policy and explicit buckets, in memory
//!                     └─ admin  health, metrics, API ───┘        ▲ reload: file, link, SIGHUP
//! ```
//! [`resolve`] puts flags, environment and file together, [`serve`] opens the doors. [`resp`] is the Redis protocol, as a state machine
//! that knows no socket.

mod gatehouse;

mod address;
mod door;
mod settings;

mod acceptor;
mod event_pace;
mod http;
mod last_words;
mod lingering;
mod listener;
mod open_files;
mod passed_sockets;
mod patient_stream;
pub mod resp;
mod resp_check;
mod resp_door;

mod admin;
mod denials;
mod engine;
mod filed;
mod filing;
mod metrics;
mod parts;
mod policy_source;
mod pulse;
mod reload;
mod shared_store;
mod snapshots;
mod talkers;
mod token_file;
mod tokens;

mod banner;
mod healthcheck;
mod logs;
mod memory_limit;
mod service_manager;
mod stopping;
mod telemetry;
#[cfg(test)]
mod test_log;
mod trust;
mod turn;

#[doc(hidden)]
pub use http::desk;

pub use address::Address;
pub use door::Door;
pub use gatehouse::{ServeError, serve};
pub use healthcheck::{HealthError, healthcheck};
pub use listener::BindError;
pub use logs::begin as begin_logs;
pub use memory_limit::{MaxKeys, MaxKeysOrigin};
pub use passed_sockets::PassedError;
pub use policy_source::{EMBEDDED_POLICY, PolicyFault};
pub use settings::{
    KNOWN, Known, LogForm, Origin, Playground, Resolved, Settings, SettingsError, Store, Value, read_secret,
    resolve,
};
pub use snapshots::SnapshotPlaceError;
pub use token_file::{path as start_token_path, read as read_start_token};
pub use trust::tls_of_machine;
