//! What is promised of any body and any header fields at the HTTP door, without a socket.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

mod any_forward_auth;
mod any_json;
mod corpus;
mod problem_document;
