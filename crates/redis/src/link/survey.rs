//! What kind of store was found, and what an operator should know about it: asked once after the link connects, for the log.
//!
//! It changes nothing on the servers, and decides nothing: whoever opened the link says what a finding means for it.

mod finding;
mod server_seen;

use std::time::Duration;

pub use finding::{Finding, Severity};
pub use server_seen::{Role, ServerKind, ServerSeen};

use super::line::Line;
use super::{Link, LinkError, Topology};
use crate::{Batch, Reply, ServerError};

/// What the servers of a store said of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The servers: one, or the masters of a cluster.
    pub servers: Vec<ServerSeen>,
    /// What is not as it should be, the worst first.
    pub findings: Vec<Finding>,
}

impl Survey {
    /// What makes the store unfit: with it limits would not be kept.
    pub fn refusal(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.severity() == Severity::Unfit)
    }
}

impl Link {
    /// Looks at the servers. Fails if there is no connection, or if all is not told within the deadline.
    pub async fn survey(&self, within: Duration) -> Result<Survey, LinkError> {
        tokio::time::timeout(within, self.look()).await.unwrap_or(Err(LinkError::TimedOut))
    }

    async fn look(&self) -> Result<Survey, LinkError> {
        let mut survey = Survey { servers: Vec::new(), findings: Vec::new() };
        for line in self.lines().await? {
            self.look_at(&line, &mut survey).await?;
        }
        survey.findings.sort_by_key(Finding::severity);
        Ok(survey)
    }

    async fn look_at(&self, line: &Line, survey: &mut Survey) -> Result<(), LinkError> {
        let address = line.address.as_ref();
        match line.ask(&["INFO"]).await? {
            Reply::Bytes(info) => {
                let server = ServerSeen::read(address.clone(), &String::from_utf8_lossy(&info));
                let wants_cluster = matches!(self.url().topology, Topology::Cluster { .. });
                survey.findings.extend(finding::findings(&server, wants_cluster));
                survey.servers.push(server);
            }
            Reply::Error(said) => survey.findings.push(Finding::Unseen { address: address.clone(), said }),
            _ => {
                survey
                    .findings
                    .push(Finding::Unseen { address: address.clone(), said: "nothing".to_owned() });
            }
        }
        // Whether the script runs: that we may, that it is of our version, and that the server answers as one.
        let nothing = Batch::new();
        let mut reply = line.evalsha(&nothing.call(), false).await?;
        if matches!(&reply, Reply::Error(said) if ServerError::of_message(said) == ServerError::NoScript) {
            reply = line.eval(&nothing.call(), false).await?;
        }
        if let Err(error) = nothing.read(&reply) {
            survey.findings.push(Finding::ScriptFails { address: address.clone(), error });
        }
        Ok(())
    }
}
