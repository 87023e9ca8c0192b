//! The gatehouse of Tollgate: the doors through which other programs ask for verdicts.
//!
//! [`resp`] is the Redis protocol, as a state machine that knows no socket.

pub mod resp;
