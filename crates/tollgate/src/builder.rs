//! How a limiter is made.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tollgate_core::{Algorithm, Tokens};

use crate::Limiter;
use crate::clock::Clock;
use crate::expiring::Expiring;
use crate::explicit;
use crate::identity::{Seed, random_word};
use crate::memory::explicit::store::ExplicitStore;
use crate::memory::explicit::table::Table as ExplicitTable;
use crate::memory::meters::Meters;
use crate::memory::store::Store;
use crate::memory::table::{KEYS_MAX, Table};
use crate::memory::{LimitId, TableFull};
use crate::once::{IDEMPOTENCY_KEYS_DEFAULT, Remembered};
use crate::reservation::RESERVATIONS_DEFAULT;
use crate::reservation_id::ReservationIds;
use crate::revival::Passage;
use crate::rule::{Breadth, Rule};
use crate::shared::{Book, DEFAULT_RULE, RuleError, Shared};
use crate::snapshot::{Snapshot, SnapshotFault};
use crate::snapshot_file::{self, Capacity, SnapshotError, SnapshotProblem};
use crate::waiting::Queues;

/// How many keys a limiter holds unless told otherwise: 2.6 MB.
pub const KEYS_DEFAULT: usize = 100_000;
/// How many keys with limits of the caller's a limiter holds unless told otherwise: 4.6 MB, from the first such check on.
pub const EXPLICIT_KEYS_DEFAULT: usize = 100_000;
/// How many charges the sliding logs of a rule remember together by default: 16 MB, and 330 bytes for each client.
pub const LOG_ENTRIES_DEFAULT: usize = 1_000_000;

/// Settings for a [`Limiter`].
#[derive(Debug, Clone)]
#[must_use = "call `build` to get a limiter"]
pub struct LimiterBuilder {
    keys_max: usize,
    explicit_keys_max: usize,
    table_full: TableFull,
    log_entries_max: usize,
    reservations_max: usize,
    idempotency_keys_max: usize,
    debt_max: Option<Tokens>,
    clock: Option<Clock>,
    snapshot: Option<PathBuf>,
    adopted_keys: RangeInclusive<usize>,
    #[cfg(feature = "policy")]
    pub(crate) keeps_keys: bool,
}

impl Default for LimiterBuilder {
    fn default() -> Self {
        Self {
            keys_max: KEYS_DEFAULT,
            explicit_keys_max: EXPLICIT_KEYS_DEFAULT,
            table_full: TableFull::default(),
            log_entries_max: LOG_ENTRIES_DEFAULT,
            reservations_max: RESERVATIONS_DEFAULT,
            idempotency_keys_max: IDEMPOTENCY_KEYS_DEFAULT,
            debt_max: None,
            clock: None,
            snapshot: None,
            adopted_keys: RangeInclusive::new(1, 0),
            #[cfg(feature = "policy")]
            keeps_keys: false,
        }
    }
}

impl LimiterBuilder {
    /// How many keys may be less than full at the same time: the size of the table, 25.8 bytes each. Full buckets take no
    /// room: they are the first to go, and lose nothing by it.
    pub fn keys_max(mut self, keys: usize) -> Self {
        self.keys_max = keys;
        self
    }

    /// How many keys whose limits come with the call ([`Limiter::explicit`]) may be less than full at the same time: the size of
    /// their table, 45.5 bytes each. Memory is taken up as keys come.
    pub fn explicit_keys_max(mut self, keys: usize) -> Self {
        self.explicit_keys_max = keys;
        self
    }

    /// What happens to a new client when nothing in its part of the table is full. Clients whose limits come with the call cannot
    /// share an overflow bucket: to them [`TableFull::SharedOverflow`] is [`TableFull::Inherit`].
    pub fn table_full(mut self, table_full: TableFull) -> Self {
        self.table_full = table_full;
        self
    }

    /// How many charges the sliding logs of one rule remember together, 16 bytes each; every log takes about 330 bytes besides.
    /// [`crate::Rule::set_log_entries_max`] changes it for a rule; the rules of a policy without a bound of their own share it.
    /// When there is no room for another, a client that has a log goes on: its oldest charges count as one. A new client gets room
    /// by merging charges of long logs, or is denied. Overruns that are committed, and what a snapshot restores, are remembered
    /// all the same.
    pub fn log_entries_max(mut self, entries: usize) -> Self {
        self.log_entries_max = entries;
        self
    }

    /// How many reservations may be open at the same time. Further ones are refused.
    pub fn reservations_max(mut self, reservations: usize) -> Self {
        self.reservations_max = reservations;
        self
    }

    /// How many idempotency keys are remembered at the same time. What cannot be remembered is charged all the same.
    pub fn idempotency_keys_max(mut self, keys: usize) -> Self {
        self.idempotency_keys_max = keys;
        self
    }

    /// How far into debt a bucket may go when more is committed than was reserved; as much as a full bucket holds unless told
    /// otherwise. Debt is repaid before anything is admitted. What would go beyond is forgiven, and said to be.
    pub fn debt_max(mut self, debt: Tokens) -> Self {
        self.debt_max = Some(debt);
        self
    }

    /// Another clock, such as [`Clock::manual`] in tests.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Continues from a file that [`Limiter::save`] wrote, as if there had been no restart; from full buckets if there is no
    /// such file. Rules that are declared again find their buckets by name. Keep the crowding rule: what a crowded table
    /// remembers under one means nothing to another. Times move to the new clock's time line, so that buckets whose limits come with the
    /// call differ by at most a micro-token each from what they would have been; a manual clock should start late enough that what
    /// was charged before the restart is after its origin.
    pub fn restore(mut self, path: impl AsRef<Path>) -> Self {
        self.snapshot = Some(path.as_ref().to_owned());
        self
    }

    /// Takes over `keys_max` and `explicit_keys_max` of the snapshot to continue from, each if it is one of `keys`, instead of refusing
    /// a snapshot of tables of another size. For sizes that follow from the machine. Default: none.
    pub fn adopt_saved_size(mut self, keys: RangeInclusive<usize>) -> Self {
        self.adopted_keys = (*keys.start()).max(1)..=(*keys.end()).min(KEYS_MAX);
        self
    }

    /// Decisions of a policy keep the keys by which its rules know the client: [`crate::Decision::clients`]. For whoever reports who was
    /// limited. It costs a copy of each key.
    #[cfg(feature = "policy")]
    pub fn keep_keys(mut self) -> Self {
        self.keeps_keys = true;
        self
    }

    /// The same from full buckets, whatever [`LimiterBuilder::restore`] said.
    #[cfg(feature = "policy")]
    pub(crate) fn without_snapshot(mut self) -> Self {
        self.snapshot = None;
        self
    }

    /// A limiter with these settings, and `limit` for its default rule.
    pub fn build(mut self, limit: impl Into<Algorithm>) -> Result<Limiter, BuildError> {
        let limit = limit.into();
        match self.keys_max {
            0 => return Err(BuildError::ZeroKeys),
            keys if keys > KEYS_MAX => return Err(BuildError::TooManyKeys { keys }),
            _ => {}
        }
        match self.explicit_keys_max {
            0 => return Err(BuildError::ZeroExplicitKeys),
            keys if keys > KEYS_MAX => return Err(BuildError::TooManyExplicitKeys { keys }),
            _ => {}
        }
        let snapshot = match &self.snapshot {
            Some(path) => {
                let capacity = Capacity {
                    keys_max: self.keys_max.max(*self.adopted_keys.end()),
                    explicit_keys_max: self.explicit_keys_max.max(*self.adopted_keys.end()),
                    // Of a table with fewer entries now, more may have been saved.
                    log_entries_max: self.log_entries_max.max(LOG_ENTRIES_DEFAULT),
                };
                snapshot_file::read(path, capacity)?.map(|snapshot| (path.clone(), snapshot))
            }
            None => None,
        };
        if let Some((_, snapshot)) = &snapshot {
            let saved =
                |keys: u64| usize::try_from(keys).ok().filter(|keys| self.adopted_keys.contains(keys));
            let keys_max = saved(snapshot.keys_max).unwrap_or(self.keys_max);
            let explicit = snapshot.explicit.as_ref().and_then(|explicit| saved(explicit.keys_max));
            self.explicit_keys_max = explicit.unwrap_or(self.explicit_keys_max);
            self.keys_max = keys_max;
        }
        let tables = self.tables()?;
        match snapshot {
            Some((path, snapshot)) => self.revive(&path, &snapshot, tables, limit),
            None => Ok(self.assemble(tables, limit)),
        }
    }

    /// A limiter with the default settings. Aborts if there is no memory for its tables, as allocations do.
    pub(crate) fn build_default(limit: Algorithm) -> Limiter {
        let builder = LimiterBuilder::default();
        let Ok(tables) = builder.tables() else { handle_alloc_error(Layout::new::<Shared>()) };
        builder.assemble(tables, limit)
    }

    /// Room for the keys, none of which is touched yet.
    fn tables(&self) -> Result<Tables, BuildError> {
        let (keys, explicit_keys) = (self.keys_max, self.explicit_keys_max);
        Ok(Tables {
            ruled: Table::try_for_keys(keys).map_err(|_| BuildError::NoMemory { keys })?,
            explicit: ExplicitTable::try_for_keys(explicit_keys)
                .map_err(|_| BuildError::NoMemoryForExplicit { keys: explicit_keys })?,
        })
    }

    /// A limiter with full buckets. The settings are known to be sound.
    fn assemble(self, tables: Tables, limit: Algorithm) -> Limiter {
        let seed = Seed::random();
        let stores = self.stores(tables, seed);
        let shared = self.shared(stores, seed, Book::fresh());
        shared.install(LimitId::FIRST, LimitId::FIRST, limit);
        Limiter { default: Rule::handle(shared, DEFAULT_RULE, Breadth::Client, LimitId::FIRST) }
    }

    /// A limiter that continues where another stopped.
    fn revive(
        mut self,
        path: &Path,
        snapshot: &Snapshot,
        tables: Tables,
        limit: Algorithm,
    ) -> Result<Limiter, BuildError> {
        let refuse = |problem| BuildError::Snapshot(SnapshotError::new(path, problem));
        let saved_explicit = snapshot.explicit.as_ref().map(|explicit| explicit.keys_max);
        for (field, saved, asked) in [
            ("keys_max", Some(snapshot.keys_max), self.keys_max),
            ("explicit_keys_max", saved_explicit, self.explicit_keys_max),
        ] {
            if let Some(saved) = saved.filter(|saved| *saved != asked as u64) {
                return Err(refuse(SnapshotProblem::KeysMax { field, saved, asked }));
            }
        }
        let (store, explicit) = self.stores(tables, snapshot.seed);
        let clock = self.clock.get_or_insert_with(Clock::system);
        let passage = Passage::to(clock, snapshot);
        let contradiction = || refuse(SnapshotProblem::Fault(SnapshotFault::Inconsistent));
        let book = snapshot.revive(&store, clock, &passage).ok_or_else(contradiction)?;
        let id = book.default_limit().ok_or_else(contradiction)?;
        if let Some(saved) = &snapshot.explicit {
            explicit.revive(saved, &passage).ok_or_else(contradiction)?;
        }
        let shared = self.shared((store, explicit), snapshot.seed, book);
        let default = Rule::handle(shared, DEFAULT_RULE, Breadth::Client, id);
        default.set_limit(limit).map_err(BuildError::DefaultRule)?;
        Ok(Limiter { default })
    }

    /// The buckets of rules and those whose limits come with the call, all full.
    fn stores(&self, tables: Tables, seed: Seed) -> (Store<Meters>, ExplicitStore) {
        let store =
            Store::new(tables.ruled, self.table_full, Meters::new(self.table_full, self.log_entries_max));
        let namespace = seed.namespace(explicit::NAMESPACE);
        (store, ExplicitStore::new(tables.explicit, namespace, self.table_full))
    }

    fn shared(
        self,
        (store, explicit): (Store<Meters>, ExplicitStore),
        seed: Seed,
        book: Book,
    ) -> Arc<Shared> {
        Arc::new(Shared {
            store,
            explicit,
            clock: self.clock.unwrap_or_else(Clock::system),
            seed,
            keys_max: self.keys_max,
            explicit_keys_max: self.explicit_keys_max,
            serial: random_word(),
            book: Mutex::new(book),
            debt_max: self.debt_max,
            reservations: Expiring::new(self.reservations_max),
            reservation_ids: ReservationIds::new(),
            remembered: Remembered::new(self.idempotency_keys_max),
            waiting: Queues::new(),
        })
    }
}

/// Room for the buckets of rules, and for those whose limits come with the call.
struct Tables {
    ruled: Table,
    explicit: ExplicitTable,
}

/// Why a limiter cannot be made. Each message names the field, the value and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A table without room.
    ZeroKeys,
    /// A table above [`KEYS_MAX`].
    TooManyKeys {
        /// How many keys were asked for.
        keys: usize,
    },
    /// A table that this machine has no memory for.
    NoMemory {
        /// How many keys were asked for.
        keys: usize,
    },
    /// A table for limits that come with the call without room.
    ZeroExplicitKeys,
    /// The same above [`KEYS_MAX`].
    TooManyExplicitKeys {
        /// How many keys were asked for.
        keys: usize,
    },
    /// The same, which this machine has no memory for.
    NoMemoryForExplicit {
        /// How many keys were asked for.
        keys: usize,
    },
    /// The snapshot to continue from is no use.
    Snapshot(SnapshotError),
    /// The limit of the default rule is of another kind than in the snapshot to continue from.
    DefaultRule(RuleError),
}

impl From<SnapshotError> for BuildError {
    fn from(error: SnapshotError) -> BuildError {
        BuildError::Snapshot(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroKeys => write!(
                f,
                "`keys_max` is 0, which leaves no room for any client; use 1 or more (the default is {KEYS_DEFAULT})"
            ),
            Self::TooManyKeys { keys } => write!(f, "`keys_max` is {keys}; use at most {KEYS_MAX}"),
            Self::NoMemory { keys } => {
                write!(f, "`keys_max` is {keys}, at 25.8 bytes each more than there is memory; use fewer")
            }
            Self::ZeroExplicitKeys => write!(
                f,
                "`explicit_keys_max` is 0, which leaves no room for any client; use 1 or more (the default is \
                 {EXPLICIT_KEYS_DEFAULT}, which take no memory before they are used)"
            ),
            Self::TooManyExplicitKeys { keys } => {
                write!(f, "`explicit_keys_max` is {keys}; use at most {KEYS_MAX}")
            }
            Self::NoMemoryForExplicit { keys } => {
                write!(
                    f,
                    "`explicit_keys_max` is {keys}, at 45.5 bytes each more than there is memory; use fewer"
                )
            }
            Self::Snapshot(error) => write!(f, "{error}"),
            Self::DefaultRule(error) => write!(f, "the default rule of the snapshot: {error}"),
        }
    }
}

impl std::error::Error for BuildError {}
