//! The verbs of policies, run as people run them: what is on stdout, what on stderr, and the exit code.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "policy_verbs/cases.rs"]
mod cases;
#[path = "policy_verbs/check.rs"]
mod check;
#[path = "policy_verbs/clients.rs"]
mod clients;
#[path = "policy_verbs/explain.rs"]
mod explain;
#[path = "policy_verbs/init.rs"]
mod init;
#[path = "policy_verbs/printed.rs"]
mod printed;
#[path = "policy_verbs/tool.rs"]
mod tool;
