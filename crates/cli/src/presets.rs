//! `tollgate presets`: the limits that rules can name instead of writing them out.

use std::fmt::Write;

use clap::Args;
use serde::Serialize;
use tollgate::policy::{self, Preset};

use crate::format::{self, Format, FormatFlag};
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;

#[derive(Debug, Args)]
pub(crate) struct PresetsFlags {
    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    description: &'static str,
    policy: &'static str,
}

/// Every preset.
#[expect(clippy::unnecessary_wraps, reason = "as every verb's page")]
pub(crate) fn page(flags: &PresetsFlags, screen: &Screen) -> Result<Page, Problem> {
    Ok(Page::good(match flags.format.chosen() {
        Format::Table => table(screen),
        Format::Json => {
            let entry = |preset: &'static Preset| Entry {
                name: preset.name,
                description: preset.description,
                policy: preset.yaml,
            };
            format::json(&policy::presets().iter().map(entry).collect::<Vec<_>>())
        }
    }))
}

fn table(screen: &Screen) -> String {
    let ink = screen.ink;
    let width = policy::presets().iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for preset in policy::presets() {
        let name = ink.heading(&format!("{:width$}", preset.name));
        let lines = crate::prose::broken(preset.description, screen.columns.saturating_sub(width + 4));
        let indent = format!("\n{:indent$}", "", indent = width + 2);
        let _ = writeln!(text, "{name}  {}", lines.trim_end().replace('\n', &indent));
    }
    let example = ink.faint("tollgate init --preset NAME");
    let _ = writeln!(text, "\nWrite a policy with one of them: {example}");
    text
}
