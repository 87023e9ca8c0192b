//! The gatehouse: opens the doors, keeps the policy fresh, and closes the doors one after the other.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tollgate::policy::Policy;
use tollgate::{Limiter, LimiterBuilder};
use tollgate_records::{Records, RecordsOptions, ViolationLog};
use tollgate_redis::{LedgerOptions, RedisLedger, TlsError};

use crate::address::Address;
use crate::admin::{Hosts, Operations};
use crate::banner;
use crate::door::Door;
use crate::engine::Engine;
use crate::filing::Filing;
use crate::http::{BODIES_BYTES_MAX, BodyRoom};
use crate::listener::{BindError, Listener};
use crate::open_files::{Share, Shares};
use crate::passed_sockets::{PassedError, PassedSockets};
use crate::policy_source::{PolicyFault, PolicySource};
use crate::resp_door::WrongPasswords;
use crate::service_manager::ServiceManager;
use crate::settings::{Settings, Store};
use crate::snapshots::{Saving, SnapshotFile, SnapshotPlaceError};
use crate::telemetry::{self, Telemetry};
use crate::{acceptor, reload, resp, stopping, token_file, tokens};

/// How long the start waits for the database to say whether it has a token. Afterwards the banner offers none, and a task looks on.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(1);

/// What all connections share.
pub(crate) struct Gatehouse {
    pub(crate) engine: Arc<Engine>,
    pub(crate) operations: Arc<Operations>,
    pub(crate) resp: Arc<resp::Settings>,
    pub(crate) wrong_passwords: WrongPasswords,
    pub(crate) idle_timeout: Duration,
    pub(crate) body_room: BodyRoom,
    /// `None` if nothing is traced.
    pub(crate) telemetry: Option<Telemetry>,
    ids: AtomicU64,
}

/// Why the gatehouse did not open.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// There is no policy to enforce.
    Policy(PolicyFault),
    /// The files that the store's TLS needs cannot be read.
    Store(TlsError),
    /// A door cannot be opened.
    Bind(BindError),
    /// The service manager passed sockets that are no doors.
    Passed(PassedError),
    /// There is no place for the snapshot.
    Snapshot(SnapshotPlaceError),
    /// Every door is off.
    NoDoors,
    /// The machine has no threads, or no signals, to give.
    Machine(io::Error),
}

impl Gatehouse {
    /// A number for a connection.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Gatehouse {
    /// The embedded policy and nothing open, for tests that bring connections of their own.
    pub(crate) fn without_doors() -> Gatehouse {
        let engine = Engine::new(
            PolicySource::Embedded,
            Limiter::builder().keys_max(1_000).explicit_keys_max(1_000),
            None,
        );
        Gatehouse::with_engine(engine.unwrap_or_else(|fault| panic!("{fault:?}")))
    }

    /// The same with this engine.
    pub(crate) fn with_engine(engine: Engine) -> Gatehouse {
        let engine = Arc::new(engine);
        let operations = Operations::new(Arc::clone(&engine), None, None, None, Hosts::default(), 256);
        let operations = operations.unwrap_or_else(|fault| panic!("{fault:?}"));
        Gatehouse {
            operations: Arc::new(operations),
            engine,
            resp: Arc::default(),
            wrong_passwords: WrongPasswords::new().unwrap_or_else(|fault| panic!("{fault:?}")),
            idle_timeout: Duration::from_mins(1),
            body_room: BodyRoom::new(BODIES_BYTES_MAX),
            telemetry: None,
            ids: AtomicU64::new(1),
        }
    }

    /// The same with patience of a second and this much room for bodies.
    pub(crate) fn with_room(bytes_max: usize) -> Arc<Gatehouse> {
        let (idle_timeout, body_room) = (Duration::from_secs(1), BodyRoom::new(bytes_max));
        Arc::new(Gatehouse { idle_timeout, body_room, ..Gatehouse::without_doors() })
    }
}

/// Serves until the program is told to end (SIGTERM, SIGINT), and returns when open requests are done or the grace time is
/// over. Says on stderr what it serves.
pub fn serve(settings: &Settings) -> Result<(), ServeError> {
    // Before there are other threads: taking sockets over changes the environment.
    let passed = PassedSockets::of_environment().map_err(ServeError::Passed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(ServeError::Machine)?;
    let result = runtime.block_on(run(settings, passed));
    // What is still open has had its time.
    runtime.shutdown_background();
    result
}

async fn run(settings: &Settings, passed: PassedSockets) -> Result<(), ServeError> {
    let snapshot =
        settings.snapshot.as_deref().map(SnapshotFile::at).transpose().map_err(ServeError::Snapshot)?;
    let engine = Arc::new(engine(settings, snapshot.as_ref())?);
    let doors = open(settings, passed).await?;
    let open: Vec<Door> = doors.iter().map(|(door, ..)| *door).collect();
    let shares = Shares::of_system(settings.max_connections, &open);
    let signals = stopping::Signals::new().map_err(ServeError::Machine)?;
    let manager = Arc::new(ServiceManager::of_environment());
    let following = reload::follow(&engine, &manager).map_err(ServeError::Machine)?;
    let filing = Filing::begin(&engine).await;
    let _keeping = tokens::keep(&engine.tokens);
    engine.tokens.first_keys().await;
    let addresses: Vec<(Door, String)> =
        doors.iter().map(|(door, _, address)| (*door, address.clone())).collect();
    let resp_settings =
        resp::Settings { limits: resp::Limits::default(), password: settings.resp_password.clone() };
    let operations = operations(&engine, settings, shares.of_door(Door::Admin), &addresses)?;
    greet(&engine, settings, &addresses, &operations).await;
    let (telemetry, exporting) = telemetry::begin(&engine).unzip();
    let gatehouse = Arc::new(Gatehouse {
        engine: Arc::clone(&engine),
        operations: Arc::new(operations),
        resp: Arc::new(resp_settings),
        wrong_passwords: WrongPasswords::new().map_err(ServeError::Policy)?,
        idle_timeout: settings.idle_timeout,
        body_room: BodyRoom::new(BODIES_BYTES_MAX),
        telemetry,
        ids: AtomicU64::new(1),
    });
    gatehouse.operations.begin();
    gatehouse.operations.has_begun().await;
    let (stop_doors, doors_stop) = watch::channel(false);
    let (stop_health, health_stops) = watch::channel(false);
    let (mut open_doors, mut health) = (JoinSet::new(), JoinSet::new());
    for (door, listener, _) in doors {
        let (gatehouse, share) = (Arc::clone(&gatehouse), shares.of_door(door));
        match door {
            Door::Http | Door::Resp => {
                open_doors.spawn(acceptor::run(gatehouse, door, listener, share, doors_stop.clone()));
            }
            Door::Admin | Door::Metrics => {
                health.spawn(acceptor::run(gatehouse, door, listener, share, health_stops.clone()));
            }
        }
    }
    let saving = snapshot.map(|file| Saving::begin(&engine, file, settings.snapshot_every));
    manager.ready(&engine.summary());
    // To the very end, which may take as long as the grace time.
    let watchdog = tokio::spawn({
        let manager = Arc::clone(&manager);
        async move { manager.keep_watchdog().await }
    });
    signals.stop().await;
    engine.note_stopping();
    let _ = stop_doors.send(true);
    following.end().await;
    if let Some(filing) = filing {
        filing.end().await;
    }
    manager.stopping();
    tracing::info!(
        grace_s = settings.grace.as_secs(),
        "stopping: no new connections, open requests are finished"
    );
    let drained = async {
        while open_doors.join_next().await.is_some() {}
        // Whoever watches over us learns until the end that we are not ready.
        gatehouse.operations.close();
        let _ = stop_health.send(true);
        while health.join_next().await.is_some() {}
    };
    let mut grace = pin!(tokio::time::sleep(settings.grace));
    let is_clean = tokio::select! {
        () = drained => {
            tracing::info!("stopped");
            true
        }
        () = grace.as_mut() => {
            tracing::warn!("stopped; connections that were still open were cut off");
            false
        }
        () = signals.stop() => {
            tracing::warn!("stopped at once, as told twice");
            false
        }
    };
    put_away(&gatehouse).await;
    if let Some(saving) = saving {
        saving.end(settings.grace, &signals).await;
    }
    if let Some(exporting) = exporting.filter(|_| is_clean) {
        tokio::select! {
            () = exporting.end() => {}
            () = grace => tracing::warn!("spans that were not sent yet are lost"),
            () = signals.stop() => {}
        }
    }
    watchdog.abort();
    Ok(())
}

/// The tables of the buckets, as set. A size that follows the machine's memory gives way to that of the snapshot.
fn tables(settings: &Settings) -> LimiterBuilder {
    let keys = settings.max_keys.keys;
    let builder = Limiter::builder().keys_max(keys).explicit_keys_max(keys);
    let builder = builder.table_full(settings.table_full).log_entries_max(settings.log_entries_max);
    builder.adopt_saved_size(settings.max_keys.adopted())
}

/// The engine, with its buckets here or in a shared store.
fn engine(settings: &Settings, snapshot: Option<&SnapshotFile>) -> Result<Engine, ServeError> {
    let source = settings.policy.clone().map_or(PolicySource::Embedded, PolicySource::File);
    let engine = match &settings.store {
        Store::Memory => Engine::new(source, tables(settings), snapshot),
        Store::Shared(url) => {
            let ledger = RedisLedger::open(url, &LedgerOptions::default()).map_err(ServeError::Store)?;
            Engine::over(source, ledger)
        }
    };
    let mut engine = engine.map_err(ServeError::Policy)?;
    engine.records = Records::open(&settings.records, RecordsOptions::default());
    engine.violations = Some(ViolationLog::new(engine.records.clone(), settings.violations.clone()));
    Ok(engine)
}

/// Warns once of each field of rules that has no effect, since the buckets are not in memory.
fn warn_of_memory_only(policy: &Policy) {
    let with_mode = policy.rules.iter().find(|rule| rule.table.table_full.is_some());
    let with_bound = policy.rules.iter().find(|rule| rule.table.log_entries_max.is_some());
    for (field, rule) in [("table_full", with_mode), ("log_entries_max", with_bound)] {
        let Some(rule) = rule else { continue };
        tracing::warn!(
            "`{field}` of rules has no effect with a shared store: it applies to memory only; leave it out (rule {})",
            rule.name
        );
    }
}

/// Ends what is kept elsewhere: what is on its way there arrives, within a few seconds.
async fn put_away(Gatehouse { engine, operations, wrong_passwords, .. }: &Gatehouse) {
    wrong_passwords.log_rest();
    operations.end_start_token();
    if let Some(violations) = &engine.violations {
        // Within three seconds. What is not stored then is counted as dropped.
        violations.close().await;
    }
    if let Some(records) = &engine.records {
        records.close().await;
    }
    if let Some(ledger) = &engine.ledger {
        // Within a second. What is not given back ends by itself.
        ledger.close().await;
    }
}

/// What the admin door stands on. Where the listener is on TCP, a viewer token of this start belongs to it; its file has the port in its
/// name, so that several instances of one user have a file each.
fn operations(
    engine: &Arc<Engine>,
    settings: &Settings,
    share: Share,
    addresses: &[(Door, String)],
) -> Result<Operations, ServeError> {
    let (records, violations) = (engine.records.clone(), engine.violations.clone());
    let (token, hosts) = (settings.admin_token.clone(), Hosts::new(settings.admin_hosts.clone()));
    let operations =
        Operations::new(Arc::clone(engine), records, violations, token, hosts, share.connections);
    let operations = operations.map_err(ServeError::Policy)?.with_playground(settings.playground);
    let admin = addresses.iter().find(|(door, _)| *door == Door::Admin);
    let Some(at) = admin.and_then(|(_, address)| address.parse::<SocketAddr>().ok()) else {
        return Ok(operations);
    };
    let file = settings.state_dir.as_deref().map(|folder| token_file::path(folder, at.port()));
    Ok(operations.with_start_token(file))
}

/// Prints the warnings about the policy and the banner. The banner says how to sign in if the admin listener is on, and the database says in
/// time that it has no token.
async fn greet(engine: &Engine, settings: &Settings, addresses: &[(Door, String)], operations: &Operations) {
    if engine.ledger.is_some() {
        warn_of_memory_only(&engine.limiter.policy());
    }
    let offer = timeout(FIRST_LOOK_MAX, operations.offer()).await.ok().flatten();
    let has_admin = addresses.iter().any(|(door, _)| *door == Door::Admin);
    banner::print(engine, settings, addresses, offer.filter(|_| has_admin).as_ref());
}

/// Opens every door that is not off. One whose socket was passed to us is open already, wherever the settings would have it.
async fn open(
    settings: &Settings,
    mut passed: PassedSockets,
) -> Result<Vec<(Door, Listener, String)>, ServeError> {
    let mut doors = Vec::new();
    for door in Door::ALL {
        if let Some(socket) = passed.take(door) {
            let (listener, address) = Listener::passed(socket).map_err(ServeError::Machine)?;
            doors.push((door, listener, address));
            continue;
        }
        let address: &Address = match door {
            Door::Http => &settings.http,
            Door::Resp => &settings.resp,
            Door::Admin => &settings.admin,
            Door::Metrics => &settings.metrics,
        };
        if let Some((listener, address)) = Listener::bind(door, address).await.map_err(ServeError::Bind)? {
            doors.push((door, listener, address));
        }
    }
    if doors.is_empty() { Err(ServeError::NoDoors) } else { Ok(doors) }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Policy(fault) => write!(f, "{fault}"),
            ServeError::Store(error) => write!(f, "{error}"),
            ServeError::Bind(error) => write!(f, "{error}"),
            ServeError::Passed(error) => write!(f, "{error}"),
            ServeError::Snapshot(error) => write!(f, "{error}"),
            ServeError::NoDoors => f.write_str("every door is off; open one, as in --http 127.0.0.1:8080"),
            ServeError::Machine(error) => write!(f, "cannot start: {error}; free some resources"),
        }
    }
}

impl std::error::Error for ServeError {}
