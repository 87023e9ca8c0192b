//! Why the command did not do what it was asked, and the exit code that says so.
//!
//! Promises one line on stderr that names the cause and the cure.
//! Does not know faults of a single flag: `mistyped` reports those, in the same form.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use tollgate::policy::Mistakes;
use tollgate::{BuildError, LimitError, PolicyError, WindowError};
use tollgate_records::RecordsError;
use tollgate_server::{HealthError, PolicyFault, ServeError, SettingsError};

use crate::admin::AdminError;
use crate::mistakes_text;
use crate::screen::Screen;
use crate::source::Unread;
use crate::visible::{visible, visible_lines};

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
    /// A file that cannot be worked with.
    Source(Unread),
    /// A policy or a file of cases that is refused.
    Mistakes(Mistakes),
    /// Files that are sound one by one but not together.
    Clash(String),
    /// A policy that cannot be put in force.
    Policy(PolicyError),
    /// The picture could not be written.
    Picture { path: PathBuf, error: io::Error },
    /// Something else could not be written: the manual, the policy.
    Unwritten { what: &'static str, path: PathBuf, error: io::Error },
    /// A question was not answered.
    Unanswered(String),
    /// Nothing was overwritten.
    Exists { path: PathBuf },
    /// A setting that cannot be.
    Settings(SettingsError),
    /// The doors did not open.
    Serve(ServeError),
    /// The server is not known to be ready.
    Health(HealthError),
    /// The admin door did not do what it was asked.
    Admin(AdminError),
    /// Somebody else changed the rules meanwhile.
    Conflict(String),
    /// What was to be changed is not there.
    Nothing(String),
    /// The database did not do what it was asked.
    Records { place: String, error: RecordsError },
    /// The result could not be written.
    Output(io::Error),
}

impl Problem {
    /// Says it on stderr. If even that fails there is nobody left to tell.
    pub(crate) fn report(&self) -> ExitCode {
        use io::Write;
        let _ = match self {
            // These name their places themselves.
            Problem::Mistakes(mistakes)
            | Problem::Serve(ServeError::Policy(PolicyFault::Mistakes(mistakes))) => {
                writeln!(io::stderr(), "{}", mistakes_text::painted(mistakes, Screen::of_stderr().ink))
            }
            _ => writeln!(io::stderr(), "error: {self}"),
        };
        match self {
            Problem::Usage(_) => ExitCode::from(2),
            Problem::Settings(error) if error.is_usage => ExitCode::from(2),
            Problem::Admin(error) if error.is_usage() => ExitCode::from(2),
            _ => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Usage(complaint) => f.write_str(complaint),
            Problem::Limiter(error) => write!(f, "{error}"),
            Problem::Limit(error) => write!(f, "{error}"),
            Problem::Window(error) => write!(f, "{error}"),
            Problem::Source(unread) => write!(f, "{unread}"),
            Problem::Mistakes(mistakes) => write!(f, "{mistakes}"),
            Problem::Policy(error) => write!(f, "{error}"),
            Problem::Unwritten { what, path, error } => write!(
                f,
                "cannot write {what} to '{}': {error}; name a place that may be written to",
                path.display()
            ),
            Problem::Clash(why)
            | Problem::Unanswered(why)
            | Problem::Conflict(why)
            | Problem::Nothing(why) => f.write_str(why),
            Problem::Exists { path } => write!(
                f,
                "'{}' exists and was left as it is; give another name, or overwrite it with --force",
                path.display()
            ),
            Problem::Picture { path, error } => write!(
                f,
                "cannot write the picture to '{}': {error}; give --svg a file in a folder that exists and may be written to",
                path.display()
            ),
            Problem::Settings(error) => write!(f, "{error}"),
            Problem::Serve(error) => write!(f, "{error}"),
            Problem::Health(error) => write!(f, "{error}"),
            Problem::Admin(error) => write!(f, "{error}"),
            Problem::Records { place, error } => {
                write!(f, "{}: {}", visible(place), visible_lines(&error.to_string()))?;
                match error {
                    RecordsError::Unavailable { .. } => {
                        f.write_str("; start it, or name another with --records")
                    }
                    _ => Ok(()),
                }
            }
            Problem::Output(error) => {
                write!(f, "cannot write to stdout: {error}; make room, or send it elsewhere")
            }
        }
    }
}

impl From<Unread> for Problem {
    fn from(unread: Unread) -> Problem {
        Problem::Source(unread)
    }
}

impl From<Mistakes> for Problem {
    fn from(mistakes: Mistakes) -> Problem {
        Problem::Mistakes(mistakes)
    }
}

impl From<PolicyError> for Problem {
    fn from(error: PolicyError) -> Problem {
        Problem::Policy(error)
    }
}

impl From<AdminError> for Problem {
    fn from(error: AdminError) -> Problem {
        Problem::Admin(error)
    }
}

impl From<SettingsError> for Problem {
    fn from(error: SettingsError) -> Problem {
        Problem::Settings(error)
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
