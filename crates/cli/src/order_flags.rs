//! What every order of an operator says besides what it orders: why, and for how long.

use clap::Args;

use crate::when::When;

#[derive(Debug, Args)]
pub(crate) struct WhyAndHowLong {
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT", required = true)]
    pub(crate) reason: String,
    /// For how long, as in 30m, 2h or 7d; without --for and --until, until it is released
    #[arg(long = "for", value_name = "LENGTH", value_parser = When::parse_length)]
    length: Option<When>,
    /// Until when, as in 2026-11-20T10:00Z
    #[arg(long, value_name = "MOMENT", value_parser = When::parse_moment, conflicts_with = "length")]
    until: Option<When>,
}

impl WhyAndHowLong {
    /// When it ends, as the server reads it: lengths are counted by the server's clock.
    pub(crate) fn expires(&self) -> Option<String> {
        self.length.or(self.until).map(When::sent)
    }
}
