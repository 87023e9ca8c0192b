//! The filing room of Tollgate: rules, standing orders, operations, tokens, the audit trail and the violation log, in SQLite or PostgreSQL.
//!
//! It promises that nobody waits for the database who did not ask it something: [`Records::open`] returns at once, and what is wrong stands in
//! [`Records::status`]. It does not know what a rule means: entries and rows are text here, and whoever changes them brings the judge along.
//!
//! ```no_run
//! use tollgate_records::{Author, Entry, Records, RecordsOptions, RecordsUrl, RuleSetChange};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let url = RecordsUrl::parse("sqlite:tollgate.db")?;
//! let records = Records::open(&url, RecordsOptions::default()).expect("not `off`");
//! records.ready().await;
//!
//! let rules = records.rule_set().await?;
//! let entry = Entry::new("login", "{name: login, scope: ip, rate: 5/m, burst: 5}");
//! let change = RuleSetChange { put_entries: vec![entry], ..RuleSetChange::default() };
//! let version = records.apply(rules.version, &change, &Author::new("alice"), "slower log-ins", |_| Ok(())).await?;
//! assert_eq!(version.version, rules.version + 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Reading order
//! [`RecordsUrl`], [`RecordsOptions`], [`Records`], [`RecordsStatus`], [`RecordsError`]. Then what is filed: [`RuleSet`], [`RuleSetChange`],
//! [`Version`], [`RuleSetDiff`]; [`tollgate_policy::Order`] and [`OrderRecord`]; [`Operation`]; [`TokenRecord`], [`TokenHashes`] and [`Role`]; [`AuditRecord`];
//! [`Violation`] and [`ViolationLog`]. Beneath: `session` (one SQL text for two databases), `keeper` (connecting, migrating, news).
#![forbid(unsafe_code)]

mod back_off;
mod clock;
mod decimal_text;
mod limits;
mod process_name;
mod records_error;
mod records_options;
mod records_status;
mod records_url;
mod timestamp;
mod unseen;

mod keeper;
mod migrations;
mod pool;
mod records;
mod session;
mod sqlite_file;

mod audit;
mod author;
mod operations;
mod orders;
mod rule_set;
mod talker_sheets;
mod tokens;
mod violations;

pub use audit::{AuditFilter, AuditNote, AuditRecord};
pub use author::Author;
pub use limits::{
    ADDRESS_BYTES_MAX, AUDIT_KEPT_MAX, AUDIT_TEXT_BYTES_MAX, DECIMAL_BYTES_MAX, DESCRIPTION_BYTES_MAX,
    ENTRIES_MAX, ENTRY_BYTES_MAX, KEY_BYTES_MAX, NAME_BYTES_MAX, OPERATIONS_KEPT_MAX, ORDERS_KEPT_MAX,
    PAGE_MAX, PLAN_BYTES_MAX, REASON_BYTES_MAX, ROWS_MAX, RULE_SET_BYTES_MAX, SCOPE_BYTES_MAX,
    TALKER_SHEET_BYTES_MAX, TALKER_SHEETS_MAX, TOKENS_MAX, VERSIONS_KEPT_MAX,
};
pub use migrations::Migrated;
pub use operations::{NewOperation, Operation, OperationKind};
pub use orders::{NewOrder, OrderMistake, OrderRecord};
pub use process_name::process_name;
pub use records::Records;
pub use records_error::RecordsError;
pub use records_options::RecordsOptions;
pub use records_status::RecordsStatus;
pub use records_url::{RecordsUrl, RecordsUrlError};
pub use rule_set::{
    ApplyError, Changed, Entry, PlainRow, PutRow, RowTerms, RuleSet, RuleSetChange, RuleSetDiff, Stored,
    StoredVersion, Version,
};
pub use timestamp::Timestamp;
pub use tokens::{NewToken, Role, TokenCheck, TokenHashes, TokenRecord, TokenSecret};
pub use unseen::is_unseen;
pub use violations::{
    ENDPOINT_BYTES_MAX, EndpointFilter, ExportFormat, IdentifierSecret, Identifiers, KEYS_SAMPLED_MAX,
    LIVE_MAX, MicroTokens, Sampled, USER_BYTES_MAX, Violation, ViolationCounts, ViolationCursor,
    ViolationExport, ViolationFailure, ViolationFilter, ViolationLog, ViolationPage, ViolationRecord,
    ViolationSettings, ViolationStatus, ViolationTotals, WORD_BYTES_MAX,
};
