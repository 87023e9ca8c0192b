//! The request, as it is described on the command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use tollgate::policy::DescribedRequest;

use crate::format::FormatFlag;

/// Most requests that `--after` plays.
const AFTER_MAX: i64 = 1_000_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tollgate explain policy.yaml --path /api/search --ip 192.0.2.7
  tollgate explain policy.yaml --header 'X-Api-Key: k1' --claim plan=pro
  tollgate explain policy.yaml --peer 10.0.0.1 --header 'X-Real-IP: 192.0.2.7'
What the eleventh request at once is told:
  tollgate explain policy.yaml --ip 192.0.2.7 --after 10

It explains and does not judge. The exit code is 0 whether the request is admitted or denied; to \
judge, write cases for `tollgate test`.")]
pub(crate) struct ExplainFlags {
    /// The policy, in YAML or JSON; - reads stdin
    #[arg(value_name = "POLICY")]
    pub(super) policy: PathBuf,
    /// The method
    #[arg(long, default_value = "GET", value_name = "METHOD", value_parser = DescribedRequest::method_named,
        help_heading = "The request")]
    pub(super) method: String,
    /// The path, with its query
    #[arg(long, default_value = "/", value_name = "PATH", help_heading = "The request")]
    pub(super) path: String,
    /// The host that the client names
    #[arg(long, value_name = "HOST", help_heading = "The request")]
    pub(super) host: Option<String>,
    /// The client's address
    #[arg(long, value_name = "ADDRESS", help_heading = "The request")]
    pub(super) ip: Option<IpAddr>,
    /// Who connects, perhaps a proxy, in place of --ip: the policy's `client_address` finds the client
    #[arg(long, value_name = "ADDRESS", help_heading = "The request")]
    pub(super) peer: Option<IpAddr>,
    /// A header field; may be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, help_heading = "The request")]
    pub(super) header: Vec<(String, String)>,
    /// The authenticated user
    #[arg(long, value_name = "USER", help_heading = "The request")]
    pub(super) user: Option<String>,
    /// What that user has paid for
    #[arg(long, value_name = "PLAN", help_heading = "The request")]
    pub(super) plan: Option<String>,
    /// What a verified token says; nested with dots, may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = claim, help_heading = "The request")]
    pub(super) claim: Vec<(String, String)>,
    /// Nobody has verified the token
    #[arg(long, requires = "claim", help_heading = "The request")]
    pub(super) unverified: bool,
    /// The cost that the request names, wherever the policy lets it name one
    #[arg(long, value_name = "COST", help_heading = "The request", allow_hyphen_values = true)]
    pub(super) cost: Option<String>,
    /// The template of the route that serves it
    #[arg(long, value_name = "TEMPLATE", help_heading = "The request")]
    pub(super) route: Option<String>,
    /// The length of its body
    #[arg(long, value_name = "BYTES", help_heading = "The request")]
    pub(super) bytes: Option<u64>,
    /// Such requests that came just before
    #[arg(long, default_value_t = 0, value_name = "REQUESTS", value_parser = clap::value_parser!(u32).range(0..=AFTER_MAX))]
    pub(super) after: u32,
    #[command(flatten)]
    pub(super) format: FormatFlag,
}

fn header(text: &str) -> Result<(String, String), String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    match text.split_once(':') {
        Some((name, value)) if is_name(name) => Ok((name.to_owned(), value.trim().to_owned())),
        _ => Err("write a name, a colon and a value, as in 'X-Api-Key: k1'".to_owned()),
    }
}

fn claim(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if name.split('.').all(|part| !part.is_empty()) => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("write a name, an equals sign and a value, as in plan=enterprise".to_owned()),
    }
}
