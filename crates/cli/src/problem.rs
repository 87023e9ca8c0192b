//! Why the command did not do what it was asked, and the exit code that says so.
//!
//! Promises one line on stderr that names the cause and the cure.
//! Does not know faults of a single flag: clap reports those, in the same form.

use std::fmt;
use std::io;
use std::process::ExitCode;

use tollgate::BuildError;

/// Ends the command.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Flags that are sound one by one but not together.
    Usage(String),
    /// The limiter could not be made.
    Limiter(BuildError),
    /// The result could not be written.
    Output(io::Error),
}

impl Problem {
    /// Says it on stderr. If even that fails there is nobody left to tell.
    pub(crate) fn report(&self) -> ExitCode {
        use io::Write;
        let _ = writeln!(io::stderr(), "error: {self}");
        match self {
            Problem::Usage(_) => ExitCode::from(2),
            Problem::Limiter(_) | Problem::Output(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Usage(complaint) => write!(f, "{complaint}\n\nFor more information, try '--help'."),
            Problem::Limiter(error) => write!(f, "{error}"),
            Problem::Output(error) => {
                write!(f, "cannot write to stdout: {error}; make room, or send it elsewhere")
            }
        }
    }
}

impl From<BuildError> for Problem {
    fn from(error: BuildError) -> Problem {
        Problem::Limiter(error)
    }
}
