//! What a Redis client relies on at the RESP door, without a socket.

mod any_bytes;
mod corpus;
mod engine;
mod wire;

mod authentication;
mod cell_answers;
mod cell_model;
mod connection_commands;
mod documentation;
mod framing;
mod pipelines;
mod policy_check;
mod protocol_limits;
mod transactions;
