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
mod schema;
mod text;

mod condition;
mod cost_plan;
mod facts;
mod key_source;
mod kill_switch;
mod rule;
mod ruling;
mod settings;

pub use condition::{Condition, HostPattern, MethodSet, PathPattern, PathTest, ValueTest};
pub use cost_plan::{CostPlan, CostSource};
pub use facts::{Claims, Facts, Headers, NoHeaders};
pub use key_source::KeySource;
pub use kill_switch::KillSwitch;
pub use policy::{Group, Policy};
pub use presets::{Preset, presets};
pub use rule::{Action, Missing, Mode, Rule, Scope};
pub use ruling::{Hit, Ruling};
pub use schema::schema;
pub use settings::{
    AnswerSettings, BodyProfile, ClientAddressSettings, ForwardingHeader, HeaderProfiles, JwtKey,
    JwtSettings, Trust,
};
pub use text::{Mistake, Mistakes};
