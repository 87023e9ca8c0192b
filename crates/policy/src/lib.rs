//! The rule book: a policy file, compiled once; a request's facts in, the charges it owes out.
//!
//! Pure: no clock, no file, no socket, no secret. The text comes in as a string and the time as an argument.
//!
//! ```text
//!  text ─► tree with places ─► Policy ─┬─► facts ─► which rules apply, which bucket of each, at what cost
//!          (every mistake at once)     └─► lints, explanations, JSON schema
//! ```

mod policy;
mod presets;
mod regex;
mod schema;
mod text;

mod case;
mod client;
mod composition;
mod condition;
mod cost_plan;
mod described_request;
mod entry;
mod facts;
#[cfg(feature = "http")]
mod header_fields;
mod key_source;
mod kill_switch;
mod leasing;
mod limit_text;
mod lint;
mod plain_row;
mod rule;
mod seen_request;
mod settings;
mod source;
mod span_text;
mod standing_order;
mod store_settings;
mod table_settings;
mod token_holder;

mod client_address;

mod rule_book;
mod ruling;

mod blank;
mod cost;
mod explain;
mod few;
mod index;
mod key;
mod path;
mod request;
mod value;

#[cfg(test)]
mod built_by_hand;
#[cfg(test)]
mod steps;

pub use case::{Case, Expected, ExpectedWait, Step};
pub use client::{Client, KeyShape};
pub use client_address::{ClientAddress, ENTRIES_MAX, ENTRY_BYTES_MAX, Ending, client_address, trust_line};
pub use composition::{Composition, Sources};
pub use condition::{Condition, HostPattern, MethodSet, PathPattern, PathTest, ValueTest};
pub use cost_plan::{CostPlan, CostSource};
pub use described_request::{DescribedRequest, NoMethod};
pub use entry::Entry;
pub use explain::{CostExplanation, Explanation, KeyPart, Outcome, RuleExplanation, SwitchExplanation};
pub use facts::{Claims, Facts, Headers, NoHeaders};
#[cfg(feature = "http")]
pub use header_fields::HeaderFields;
pub use index::PATTERNS_READ_BYTES_MAX;
pub use key::{KEY_BYTES_MAX, KeyMistake};
pub use key_source::KeySource;
pub use kill_switch::KillSwitch;
pub use leasing::CannotLease;
pub use limit_text::{limit_text, rate_text};
pub use lint::{Lint, LintKind};
pub use path::normal_path;
pub use plain_row::PlainRow;
pub use policy::{Group, Policy};
pub use presets::{Preset, presets};
pub use regex::{REGEX_BYTES_MAX, REGEX_INPUT_BYTES_MAX, Regex, RegexFault, Stop};
pub use rule::{Action, Missing, Mode, Rule, Scope};
pub use rule_book::{RuleBook, SHADOW_HITS_MAX};
pub use ruling::{Hit, Ruling};
pub use schema::schema;
pub use seen_request::SeenRequest;
pub use settings::{
    AnswerSettings, BodyProfile, ClientAddressSettings, ForwardingHeader, HeaderProfiles, JwtKey,
    JwtSettings, PathEncoded, Trust,
};
pub use source::Source;
pub use span_text::span_text;
pub use standing_order::{ORDER_REASON_BYTES_MAX, ORDERS_STANDING_MAX, Order, StandingOrder, Who};
pub use store_settings::{Consistency, LocalStart, OnStoreFailure, StoreSettings};
pub use table_settings::{
    CLIENT_LOG_ENTRIES_MAX, MAX_KEYS_ASSUMED, TableRoom, TableSettings, log_entries_default,
};
pub use text::{EntryReader, Mistake, Mistakes, is_rate, rate_of, span_of};
pub use value::has_other_spelling;
