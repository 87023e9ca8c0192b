//! Where the result is shown: how wide it is, and whether it takes colour.
//!
//! Promises no escape sequence unless the stream is a terminal and `NO_COLOR` is unset or empty.
//! Does not know what is shown; Unicode is taken for granted.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use terminal_size::{Width, terminal_size_of};

use crate::problem::Problem;

/// Width of what is not a terminal.
const COLUMNS_DEFAULT: usize = 80;
/// Narrower, and the table no longer fits; the terminal may wrap it.
const COLUMNS_MIN: usize = 64;
/// Wider, and the eye loses the line.
const COLUMNS_MAX: usize = 160;

/// A place to show things.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) columns: usize,
    pub(crate) ink: Ink,
}

/// Whether text may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Coloured,
}

impl Screen {
    /// The terminal on stdout; 80 columns without colour if it is something else.
    pub(crate) fn of_stdout() -> Screen {
        Screen::of(&io::stdout())
    }

    /// The terminal on stderr, likewise.
    pub(crate) fn of_stderr() -> Screen {
        Screen::of(&io::stderr())
    }

    fn of(stream: &(impl IsTerminal + AsFd)) -> Screen {
        if !stream.is_terminal() {
            return Screen { columns: COLUMNS_DEFAULT, ink: Ink::Plain };
        }
        let columns = match terminal_size_of(stream) {
            Some((Width(columns), _)) if columns > 0 => usize::from(columns),
            _ => COLUMNS_DEFAULT,
        };
        Screen::terminal(
            columns,
            std::env::var_os("NO_COLOR").as_deref(),
            std::env::var_os("TERM").as_deref(),
        )
    }

    /// A terminal of that width, in that environment. As <https://no-color.org> has it, an empty `NO_COLOR` is none.
    fn terminal(columns: usize, no_color: Option<&OsStr>, term: Option<&OsStr>) -> Screen {
        let is_plain =
            no_color.is_some_and(|value| !value.is_empty()) || term.is_some_and(|term| term == "dumb");
        let ink = if is_plain { Ink::Plain } else { Ink::Coloured };
        Screen { columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX), ink }
    }
}

impl Ink {
    /// The title of a part.
    pub(crate) fn heading(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What a bucket holds.
    pub(crate) fn balance(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// What was admitted.
    pub(crate) fn admitted(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What was denied.
    pub(crate) fn denied(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// What explains the rest.
    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Ink::Plain => text.to_owned(),
            Ink::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Writes the whole page. A reader that has seen enough (`| head`) has been served.
pub(crate) fn show(page: &str) -> Result<(), Problem> {
    show_more(page).map(drop)
}

/// Writes a part of what goes on. Whether somebody still reads.
pub(crate) fn show_more(part: &str) -> Result<bool, Problem> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(part.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Problem::Output(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_coloured_unless_the_environment_says_no() {
        let ink = |no_color: Option<&str>, term: &str| {
            Screen::terminal(80, no_color.map(OsStr::new), Some(OsStr::new(term))).ink
        };
        assert_eq!(ink(None, "xterm"), Ink::Coloured);
        assert_eq!(ink(Some(""), "xterm"), Ink::Coloured);
        assert_eq!(ink(Some("1"), "xterm"), Ink::Plain);
        assert_eq!(ink(None, "dumb"), Ink::Plain);
        assert_eq!(Ink::Plain.heading("title"), "title");
        assert_eq!(Ink::Coloured.heading("title"), "\x1b[1mtitle\x1b[0m");
    }

    #[test]
    fn absurd_widths_are_brought_to_legible_ones() {
        let columns = |columns| Screen::terminal(columns, None, None).columns;
        assert_eq!([1, 80, 120, 65_535].map(columns), [COLUMNS_MIN, 80, 120, COLUMNS_MAX]);
    }
}
