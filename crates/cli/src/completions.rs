//! `tollgate completions`: what a shell needs to complete the command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::invocation::Invocation;
use crate::page::Page;

#[derive(Debug, Args)]
pub(crate) struct CompletionsFlags {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// The script for the shell.
pub(crate) fn page(flags: &CompletionsFlags) -> Page {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Invocation::command(), "tollgate", &mut script);
    Page::good(String::from_utf8_lossy(&script).into_owned())
}

/// How each shell is told, for the help.
pub(crate) const HOW: &str = "\
Examples:
  tollgate completions bash > ~/.local/share/bash-completion/completions/tollgate
  tollgate completions zsh > \"${fpath[1]}/_tollgate\"
  tollgate completions fish > ~/.config/fish/completions/tollgate.fish";

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_every_verb() {
        for shell in Shell::value_variants() {
            let script = page(&CompletionsFlags { shell: *shell }).text;
            for verb in Invocation::command().get_subcommands() {
                assert!(script.contains(verb.get_name()), "{shell}: {}", verb.get_name());
            }
        }
    }
}
