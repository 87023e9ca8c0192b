//! `tollgate init`: a policy to start from, and its schema beside it, so that editors complete and check it.
//!
//! Promises that what it writes passes `tollgate check`, and that no file of somebody else is overwritten unless `--force` says so.

mod question;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command};
use tollgate::policy::{self, Preset};

use crate::page::Page;
use crate::problem::Problem;
use crate::schema;

/// The schema's file, beside the policy. The policy's first line names it.
const SCHEMA_FILE: &str = "tollgate.schema.json";

#[derive(Debug, Args)]
#[command(after_help = "\
Beside the policy it writes tollgate.schema.json, which the policy's first line names, so that editors with a YAML \
language server complete and check it. With - as FILE the policy goes to stdout, and no schema is written.")]
pub(crate) struct InitFlags {
    /// Where to write it; - is stdout
    #[arg(value_name = "FILE", default_value = "policy.yaml")]
    file: PathBuf,
    /// Which preset to start from; without it, you are asked
    #[arg(long, value_name = "NAME", value_parser = PresetName)]
    preset: Option<&'static Preset>,
    /// Overwrite what is there
    #[arg(long)]
    force: bool,
}

/// Writes the policy and its schema, and says on stderr what it did.
pub(crate) fn page(flags: &InitFlags) -> Result<Page, Problem> {
    let InitFlags { file, force, .. } = flags;
    if file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
        let name = file.with_extension("yaml");
        return Err(Problem::Usage(format!(
            "init writes YAML, and '{}' is named as JSON; write it to '{}'",
            file.display(),
            name.display()
        )));
    }
    let is_stdout = file.as_os_str() == "-";
    // Before anything is asked.
    if !is_stdout && !force && file.exists() {
        return Err(Problem::Exists { path: file.clone() });
    }
    let preset = match flags.preset {
        Some(preset) => preset,
        None if io::stdin().is_terminal() && io::stderr().is_terminal() => question::which_preset()?,
        None => {
            let names: Vec<&str> = policy::presets().iter().map(|preset| preset.name).collect();
            return Err(Problem::Usage(format!(
                "nobody is there to be asked; choose with --preset, one of {}",
                names.join(", ")
            )));
        }
    };
    if is_stdout {
        return Ok(Page::good(text_of(preset, "policy.yaml")));
    }
    let schema = file.with_file_name(SCHEMA_FILE);
    write_schema(&schema, *force)?;
    write(file, &text_of(preset, &file.display().to_string()), *force, "the policy")?;
    let (file, schema) = (file.display(), schema.display());
    let _ = writeln!(
        io::stderr(),
        "wrote {file} and {schema}\nnext:  tollgate check {file}\n       tollgate explain {file} --ip 192.0.2.7 --path /"
    );
    Ok(Page::good(String::new()))
}

/// The policy, with the line that editors look for.
fn text_of(preset: &Preset, file: &str) -> String {
    let Preset { name, description, yaml, .. } = preset;
    format!(
        "# yaml-language-server: $schema={SCHEMA_FILE}\n# {description}\n\
         # From the preset `{name}`. Check it with `tollgate check {file}`; every field is in docs/policy.md.\n{yaml}"
    )
}

/// A schema that an earlier version wrote is brought up to date; any other file of that name is somebody's.
fn write_schema(path: &Path, force: bool) -> Result<(), Problem> {
    let text = schema::page().text;
    let is_ours = || fs::read_to_string(path).is_ok_and(|there| schema::is_ours(&there));
    write(path, &text, force || is_ours(), "the schema")
}

fn write(path: &Path, text: &str, force: bool, what: &'static str) -> Result<(), Problem> {
    let file = if force { File::create(path) } else { File::create_new(path) };
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Problem::Exists { path: path.to_owned() },
        _ => Problem::Unwritten { what, path: path.to_owned(), error },
    })
}

/// Reads the name of a preset, and knows them all, so that shells complete them.
#[derive(Debug, Clone, Copy)]
struct PresetName;

impl TypedValueParser for PresetName {
    type Value = &'static Preset;

    fn parse_ref(
        &self,
        command: &Command,
        flag: Option<&Arg>,
        name: &OsStr,
    ) -> Result<&'static Preset, clap::Error> {
        preset_of.parse_ref(command, flag, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(policy::presets().iter().map(|preset| PossibleValue::new(preset.name))))
    }
}

/// The preset of that name, or those that there are.
fn preset_of(name: &str) -> Result<&'static Preset, String> {
    policy::presets().iter().find(|preset| preset.name == name).ok_or_else(|| {
        let names: Vec<&str> = policy::presets().iter().map(|preset| preset.name).collect();
        format!("there is no such preset; use one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use tollgate::policy::Policy;

    use super::*;

    #[test]
    fn whatever_it_writes_has_neither_mistakes_nor_lints_and_names_its_schema() {
        for preset in policy::presets() {
            let text = text_of(preset, "policy.yaml");
            assert!(text.starts_with("# yaml-language-server: $schema=tollgate.schema.json\n"), "{text}");
            let policy = Policy::parse("policy.yaml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert_eq!(policy.lints(), [], "{}", preset.name);
        }
    }
}
