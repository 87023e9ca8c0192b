//! The violation log: who was denied, by sampling, and how many, exactly.
//!
//! ```text
//!   note ─► sampler ─► intake ─► backlog ─► batch ─► database          rows: the first few of each key and second
//!     │                              └────► live stream
//!     └───► rule counts ─► pending totals ─┘                           counts: every denial, by rule and hour
//! ```
//!
//! It promises that whoever notes never waits, that memory is bounded, and that stored + sampled out + dropped = denied. It does not know what a
//! rule or a verdict is.

mod back_room;
mod batch;
mod counts;
mod csv;
mod filing;
mod identifiers;
mod lane;
mod pending_totals;
mod reading;
mod retention;
mod row_budget;
mod rule_counts;
mod sampler;
mod violation;
mod violation_cursor;
mod violation_export;
mod violation_filter;
mod violation_log;
mod violation_record;
mod violation_row;
mod violation_settings;
mod violation_status;

pub use back_room::LIVE_MAX;
pub use counts::ViolationCounts;
pub use identifiers::{IdentifierSecret, Identifiers};
pub use reading::{ViolationPage, ViolationTotals};
pub use sampler::KEYS_SAMPLED_MAX;
pub use violation::{MicroTokens, Violation};
pub use violation_cursor::ViolationCursor;
pub use violation_export::{ExportFormat, ViolationExport};
pub use violation_filter::{EndpointFilter, ViolationFilter};
pub use violation_log::{Sampled, ViolationLog};
pub use violation_record::ViolationRecord;
pub use violation_row::{ENDPOINT_BYTES_MAX, USER_BYTES_MAX, WORD_BYTES_MAX};
pub use violation_settings::ViolationSettings;
pub use violation_status::{ViolationFailure, ViolationStatus};
