//! The Redis protocol: bytes become requests, requests become commands, commands become replies, and nothing here reads a
//! socket or a clock.
//!
//! ```text
//!  bytes ─► Frame ─► Args ─┬─ CL.THROTTLE ─► Batch ─────────► Throttle (the engine) ─┬─► replies, in order
//!                          ├─ TOLLGATE.CHECK ─► Described ──► Throttle (the policy) ─┤
//!                          └─ PING, HELLO, AUTH, CLIENT, COMMAND, … ─────────────────┘
//! ```
//! - A [`Session`] is one connection. [`Session::feed`] takes what was read, answers every complete request of it and says how many
//!   bytes it is done with; the rest is offered again, with more behind it.
//! - `CL.THROTTLE` requests that follow each other are one batch: the engine is called once for up to
//!   [`Limits::batch_asks_max`] of them. None of them allocates; a read does, once.
//! - `TOLLGATE.CHECK` describes a request, as `POST /v1/check` does, and the policy decides it.
//! - Requests are arrays of bulk strings or lines (inline commands), in RESP2 and RESP3 alike. What breaks the protocol gets the
//!   error that Redis would send, and the connection is to be closed.
//! - Everything has a maximum: [`Limits`].
//!
//! What differs from Redis and from redis-cell is listed in `docs/resp.md`.

mod session;

mod limits;
mod settings;
mod throttle;

mod args;
mod frame;
mod inline;
mod number;
mod protocol_error;

mod batch;
mod cell;
mod cell_error;
mod terms;
mod transaction;

mod check;
mod described;
mod described_error;
mod told;

mod client;
mod command;
mod command_table;
mod hello;
mod info;
mod password;
mod peer;
mod reply;

pub use described::Described;
pub use limits::Limits;
pub use password::Password;
pub use session::{Next, Progress, Session};
pub use settings::Settings;
pub use throttle::{Answer, Ask, Fallback, Throttle};
pub use told::Told;
