//! Real servers for tests: each on a socket of its own, gone with the test.

mod connection;
mod mortal;
mod server;

pub(crate) use connection::Connection;
pub(crate) use server::{Engine, Server};
