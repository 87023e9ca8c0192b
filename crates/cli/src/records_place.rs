//! Where the records are, for commands that go to the database themselves: where `serve` with the same settings would have them.

use std::time::Duration;

use clap::Args;
use tollgate_records::{Records, RecordsError, RecordsOptions, RecordsUrl};
use tollgate_server::{Origin, resolve};

use crate::problem::Problem;
use crate::serve;

/// How long the database may take to be there.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct RecordsFlags {
    #[arg(
        long,
        value_name = "RECORDS",
        help_heading = "The database",
        help = "The database: sqlite:PATH or postgres://user@host/database [default: sqlite:DIR/tollgate.db]"
    )]
    records: Option<String>,
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "The database",
        help = "Where state is kept [default: $STATE_DIRECTORY, $XDG_STATE_HOME/tollgate or ~/.local/state/tollgate]"
    )]
    state_dir: Option<String>,
    /// The file of settings, in YAML or JSON
    #[arg(long, value_name = "FILE", help_heading = "The database")]
    config: Option<String>,
}

/// What the help of these commands says of the database.
pub(crate) const HELP: &str = "\
The database is the one that `tollgate serve` has with the same settings: --records, else TOLLGATE_RECORDS, else DATABASE_URL, else a file \
in the state directory.";

impl RecordsFlags {
    /// The URL that flags, environment and file say together.
    pub(crate) fn url(&self) -> Result<RecordsUrl, Problem> {
        let typed = [("config", &self.config), ("records", &self.records), ("state_dir", &self.state_dir)];
        let typed: Vec<(&str, String)> =
            typed.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
        let resolved = resolve(&typed, &serve::environment())?;
        let value = resolved.values.iter().find(|value| value.known.name == "records");
        let text = value.and_then(|value| value.text.as_deref()).unwrap_or("off");
        let told = |why: String| match value.map(|value| &value.origin) {
            Some(origin @ Origin::Flag { .. }) => Problem::Usage(format!("{origin}: {why}")),
            Some(Origin::Default) | None => Problem::Nothing(why),
            Some(origin) => Problem::Nothing(format!("{origin}: {why}")),
        };
        let url = RecordsUrl::parse(text).map_err(|error| told(error.to_string()))?;
        if url.is_off() {
            let why =
                "the records are off; name a database with --records sqlite:PATH or --records postgres://…";
            return Err(told(why.to_owned()));
        }
        Ok(url)
    }
}

/// Does something with the records, once the database is there.
pub(crate) fn with_records<T>(
    url: &RecordsUrl,
    work: impl AsyncFnOnce(&Records) -> Result<T, RecordsError>,
) -> Result<T, Problem> {
    let told = |error| Problem::Records { place: url.to_string(), error };
    runtime()?.block_on(async {
        // What is off was refused before.
        let records = Records::open(url, RecordsOptions::default())
            .ok_or_else(|| told(RecordsError::Unavailable { why: "the records are off".to_owned() }))?;
        let done = match records.ready_within(CONNECT_TIME_MAX).await {
            Ok(()) => work(&records).await,
            Err(error) => Err(error),
        };
        records.close().await;
        done.map_err(told)
    })
}

/// Runs what waits for the database.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Problem::Output)
}
