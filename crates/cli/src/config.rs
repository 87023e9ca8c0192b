//! `tollgate config`: the settings that `serve` would have with the same flags, and who said so.

use std::borrow::Cow;
use std::fmt::Write;
use std::io::{self, Write as _};

use clap::Args;
use serde::Serialize;
use tollgate_server::Value;

use crate::format::{self, Format, FormatFlag};
use crate::page::Page;
use crate::problem::Problem;
use crate::serve::{SettingFlags, resolved};

#[derive(Debug, Args)]
#[command(after_help = "\
Takes the flags of `tollgate serve`. Secrets are not shown. The exit code is 1 if a setting cannot be, 2 if that is a flag.")]
pub(crate) struct ConfigFlags {
    #[command(flatten)]
    settings: SettingFlags,
    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Serialize)]
struct Entry<'v> {
    setting: &'static str,
    value: Option<Cow<'v, str>>,
    origin: String,
}

impl<'v> Entry<'v> {
    fn of(value: &'v Value) -> Entry<'v> {
        let shown = value.text.is_some().then(|| value.shown());
        Entry { setting: value.known.name, value: shown, origin: value.origin.to_string() }
    }
}

/// Every setting, once all of them can be.
pub(crate) fn page(flags: &ConfigFlags) -> Result<Page, Problem> {
    let resolved = resolved(&flags.settings)?;
    resolved.settings()?;
    for warning in &resolved.warnings {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let text = match flags.format.chosen() {
        Format::Table => table(&resolved.values),
        Format::Json => {
            let entries: Vec<Entry<'_>> = resolved.values.iter().map(Entry::of).collect();
            format::json(&entries)
        }
    };
    Ok(Page::good(text))
}

fn table(values: &[Value]) -> String {
    let width = |of: fn(&Value) -> usize| values.iter().map(of).max().unwrap_or(0);
    let names = width(|value| value.known.name.len());
    let shown = width(|value| shown(value).chars().count());
    let mut text = String::new();
    for value in values {
        let _ =
            writeln!(text, "{:names$}  {:shown$}  {}", value.known.name, self::shown(value), value.origin);
    }
    text
}

fn shown(value: &Value) -> Cow<'_, str> {
    if value.text.is_some() { value.shown() } else { "-".into() }
}
