//! Why the command did not do what it was asked, and the exit code that says so.
//!
//! Promises one line on stderr that names the cause and the cure.
//! Does not know faults of a single flag: clap reports those, in the same form.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use tollgate::{BuildError, LimitError, WindowError};

/// Ends the command.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Flags that are sound one by one but not together.
    Usage(String),
    /// The limiter could not be made.
    Limiter(BuildError),
    /// A limit that cannot be kept.
    Limit(LimitError),
    /// A window of the calendar that cannot be kept.
    Window(WindowError),
    /// The picture could not be written.
    Picture { path: PathBuf, error: io::Error },
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
            _ => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Usage(complaint) => write!(f, "{complaint}\n\nFor more information, try '--help'."),
            Problem::Limiter(error) => write!(f, "{error}"),
            Problem::Limit(error) => write!(f, "{error}"),
            Problem::Window(error) => write!(f, "{error}"),
            Problem::Picture { path, error } => write!(
                f,
                "cannot write the picture to '{}': {error}; give --svg a file in a folder that exists and may be written to",
                path.display()
            ),
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

impl From<LimitError> for Problem {
    fn from(error: LimitError) -> Problem {
        Problem::Limit(error)
    }
}

impl From<WindowError> for Problem {
    fn from(error: WindowError) -> Problem {
        Problem::Window(error)
    }
}
