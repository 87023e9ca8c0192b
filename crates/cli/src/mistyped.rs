//! A command that was mistyped: what clap says of it, in one line.
//!
//! Promises one line on stderr that names what was typed and the cure, and exit code 2; help and version are data, as ever.
//! Does not know flags that are sound one by one but not together: the verbs refuse those.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Error;
use clap::error::ErrorKind;

/// Says what is wrong; or shows help or the version, if that was asked for.
pub(crate) fn report(error: &Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        // A closed pipe is no failure.
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    // If even that fails there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{}", line(&error.render().to_string()));
    ExitCode::from(2)
}

/// What clap says in several paragraphs: the complaint, tips, the usage, and where to find more.
fn line(said: &str) -> String {
    let mut line = String::new();
    for paragraph in said.split("\n\n") {
        let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            let verb = usage.split(' ').take_while(|word| !word.starts_with(['[', '<', '-']));
            line = format!("{line}; see '{} --help'", verb.collect::<Vec<_>>().join(" "));
        } else if line.is_empty() {
            line = paragraph;
        } else if paragraph.starts_with("tip: ") {
            line.push_str(&paragraph.replace("tip: ", "; ").replace(" ; ", "; "));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn every_paragraph_that_helps_is_in_the_line() {
        let said = "error: unexpected argument '--brust' found\n\n  tip: a similar argument exists: '--burst'\n  tip: or not\n\n\
                    Usage: tollgate demo [OPTIONS]\n\nFor more information, try '--help'.\n";
        assert_eq!(
            line(said),
            "error: unexpected argument '--brust' found; a similar argument exists: '--burst'; or not; see 'tollgate demo --help'"
        );
        let said = "error: the following required arguments were not provided:\n  <POLICY>\n  <CASES>\n\n\
                    Usage: tollgate test <POLICY> <CASES>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            line(said),
            "error: the following required arguments were not provided: <POLICY> <CASES>; see 'tollgate test --help'"
        );
        assert_eq!(line("error: it is 0\n\nFor more information, try '--help'.\n"), "error: it is 0");
    }
}
