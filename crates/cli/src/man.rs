//! `tollgate man`: the manual, one page for the command, one for each verb, and one for each verb of a verb.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::invocation::Invocation;
use crate::page::Page;
use crate::problem::Problem;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tollgate man | man -l -
  tollgate man explain | man -l -
  tollgate man ~/.local/share/man/man1")]
pub(crate) struct ManFlags {
    /// Where to write a page for each verb, made if need be; or the verb whose page goes to stdout; without it, the first
    /// page does
    #[arg(value_name = "DIR|VERB")]
    directory: Option<PathBuf>,
}

/// The first page, that of a verb, or the names of the files that all pages were written to.
pub(crate) fn page(flags: &ManFlags) -> Result<Page, Problem> {
    let mut command = Invocation::command();
    command.build();
    let Some(directory) = &flags.directory else {
        return Ok(Page::good(rendered(command)));
    };
    // Whoever names a verb wants to read; `./explain` is a directory whatever it is called.
    let verb = command.get_subcommands().find(|verb| directory.as_os_str() == verb.get_name());
    if let Some(verb) = verb.filter(|_| !directory.is_dir()) {
        return Ok(Page::good(rendered(verb.clone())));
    }
    let unwritten = |path: &Path| {
        let path = path.to_owned();
        move |error| Problem::Unwritten { what: "the manual", path, error }
    };
    fs::create_dir_all(directory).map_err(unwritten(directory))?;
    let mut names = String::new();
    for page in with_verbs(&command) {
        let path =
            directory.join(format!("{}.1", page.get_display_name().unwrap_or_else(|| page.get_name())));
        fs::write(&path, rendered(page)).map_err(unwritten(&path))?;
        let _ = writeln!(names, "{}", path.display());
    }
    Ok(Page::good(names))
}

/// The command, its verbs, and theirs.
fn with_verbs(command: &Command) -> Vec<Command> {
    let of_verbs = command.get_subcommands().flat_map(with_verbs);
    std::iter::once(command.clone()).chain(of_verbs).collect()
}

fn rendered(command: Command) -> String {
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = Man::new(command).render(&mut page);
    String::from_utf8_lossy(&page).into_owned()
}
