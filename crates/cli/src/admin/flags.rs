//! Which server is asked, and by which token.

use std::path::PathBuf;

use clap::Args;

use crate::format::FormatFlag;

/// The flags of every command that asks a running server.
#[derive(Debug, Args)]
pub(crate) struct AdminFlags {
    #[arg(
        long,
        value_name = "URL",
        help_heading = "The server",
        help = "The admin door of the server: http://host:port, https://host:port or unix:PATH [default: http://127.0.0.1:8082]"
    )]
    pub(super) admin_url: Option<String>,
    /// The file that holds the token, in place of `TOLLGATE_ADMIN_TOKEN`
    #[arg(long, value_name = "FILE", help_heading = "The server")]
    pub(super) token_file: Option<PathBuf>,
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "The server",
        help = "State directory of the local server, which holds its viewer token [default: as for `tollgate serve`]"
    )]
    pub(super) state_dir: Option<PathBuf>,
}

/// The same for commands that show what they were told.
#[derive(Debug, Args)]
pub(crate) struct Asking {
    #[command(flatten)]
    pub(crate) format: FormatFlag,
    #[command(flatten)]
    pub(crate) admin: AdminFlags,
}

/// What the help of these commands says of the server.
pub(crate) const HELP: &str = "\
The server is the one of --admin-url, else of TOLLGATE_ADMIN_URL, else the one on this machine. The token is in the file of --token-file, \
in TOLLGATE_ADMIN_TOKEN, or in the file that TOLLGATE_ADMIN_TOKEN_FILE names; `tollgate token create` makes one. While no token \
exists, a local server writes a viewer token to admin-PORT.token in its state directory. Commands of the same user send this token by \
default. For another state directory, set --state-dir or TOLLGATE_STATE_DIR.";
