//! The flags of everything that serves. What they mean, and whether it can be, is the server's to say.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SettingFlags {
    /// The file of settings, in YAML or JSON
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// Policy file [default: built-in, 5/s and burst 10 per client (IPv4 address or IPv6 /64)]
    #[arg(long, value_name = "FILE")]
    policy: Option<String>,
    #[arg(
        long,
        value_name = "STORE",
        help = "Where buckets are kept: memory, or a Redis or Valkey that instances share, as in \
                redis://user:password@host:port/database, rediss://host (TLS), redis+sentinel://host,host/service, \
                redis+cluster://host,host or unix:/path [default: memory]"
    )]
    store: Option<String>,
    #[arg(
        long,
        value_name = "RECORDS",
        help = "Where rules, orders and violations are filed: sqlite:PATH, postgres://user:password@host/database, or off \
                [default: sqlite:DIR/tollgate.db]"
    )]
    records: Option<String>,
    #[arg(
        long,
        value_name = "DIR",
        help = "Where state is kept [default: $STATE_DIRECTORY, $XDG_STATE_HOME/tollgate or ~/.local/state/tollgate]"
    )]
    state_dir: Option<String>,
    /// How long denials are kept on record, in hours or days [default: 30d]
    #[arg(long, value_name = "SPAN")]
    violations_keep: Option<String>,
    /// How many denials are kept on record [default: 1000000]
    #[arg(long, value_name = "N")]
    violations_max_rows: Option<String>,
    /// How users and addresses stand there: plain, hashed (pseudonyms by a secret) or off [default: plain]
    #[arg(long, value_name = "NAMES")]
    identifiers: Option<String>,
    /// The file that holds the secret of pseudonyms
    #[arg(long, value_name = "FILE")]
    identifiers_secret_file: Option<String>,
    /// Keeps balances over restarts in this file, which only its owner can read
    #[arg(long, value_name = "FILE")]
    snapshot: Option<String>,
    /// How often they are saved while it serves, besides at the end [default: 10s]
    #[arg(long, value_name = "SPAN")]
    snapshot_every: Option<String>,
    #[arg(long, value_name = "FILE", hide = true)]
    decision_log: Option<String>,
    /// Maximum number of active buckets per table; memory store only [default: auto, as many as fit in 5 % of memory]
    #[arg(long, value_name = "N")]
    max_keys: Option<String>,
    /// Treatment of new clients when a bucket table is full; memory store only [default: inherit]
    #[arg(long, value_name = "inherit|deny_new|shared_overflow")]
    table_full: Option<String>,
    /// Maximum number of charges in the logs of exact sliding windows; memory store only [default: auto, ten per key, at most 1000000]
    #[arg(long, value_name = "N")]
    log_entries_max: Option<String>,
    /// JSON and forward-auth [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    #[arg(long, value_name = "ADDRESS", hide = true)]
    grpc: Option<String>,
    /// The Redis protocol [default: 127.0.0.1:6380]
    #[arg(long, value_name = "ADDRESS")]
    resp: Option<String>,
    /// Dashboard, admin API, health and metrics [default: 127.0.0.1:8082]
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,
    /// Health and metrics on a door of their own [default: off]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// File with the password of the RESP listener, at least 8 bytes
    #[arg(long, value_name = "FILE")]
    resp_password_file: Option<String>,
    /// The file that holds a token of the admin door, besides those on record
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<String>,
    /// Names of the admin door, besides its addresses and localhost, with commas between them
    #[arg(long, value_name = "HOSTS")]
    admin_host: Option<String>,
    /// Who may use the playground of the admin door: signed-in, or open to whoever reaches it [default: signed-in]
    #[arg(long, value_name = "WHO")]
    playground: Option<String>,
    /// Connections of each door; further ones are turned away [default: 10000]
    #[arg(long, value_name = "N")]
    max_connections: Option<String>,
    /// How long an HTTP connection may say nothing, and how long a request may take to arrive [default: 60s]
    #[arg(long, value_name = "SPAN")]
    idle_timeout: Option<String>,
    /// How long open requests may take when the program is to end [default: 10s]
    #[arg(long, value_name = "SPAN")]
    grace: Option<String>,
    /// How logs look: text or json [default: text]
    #[arg(long, value_name = "FORM")]
    log: Option<String>,
}

impl SettingFlags {
    /// What was typed, by the names of settings.
    pub(crate) fn typed(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("config", &self.config),
            ("policy", &self.policy),
            ("store", &self.store),
            ("records", &self.records),
            ("state_dir", &self.state_dir),
            ("violations_keep", &self.violations_keep),
            ("violations_max_rows", &self.violations_max_rows),
            ("identifiers", &self.identifiers),
            ("identifiers_secret_file", &self.identifiers_secret_file),
            ("snapshot", &self.snapshot),
            ("snapshot_every", &self.snapshot_every),
            ("decision_log", &self.decision_log),
            ("max_keys", &self.max_keys),
            ("table_full", &self.table_full),
            ("log_entries_max", &self.log_entries_max),
            ("http", &self.http),
            ("grpc", &self.grpc),
            ("resp", &self.resp),
            ("admin", &self.admin),
            ("metrics", &self.metrics),
            ("resp_password_file", &self.resp_password_file),
            ("admin_token_file", &self.admin_token_file),
            ("admin_host", &self.admin_host),
            ("playground", &self.playground),
            ("max_connections", &self.max_connections),
            ("idle_timeout", &self.idle_timeout),
            ("grace", &self.grace),
            ("log", &self.log),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}
