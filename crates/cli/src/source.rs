//! A text that somebody wrote: a policy or a file of cases, from a file or from stdin.
//!
//! Promises one line for every way in which a file can be no such text, and that no more than [`SOURCE_BYTES_MAX`] of it is read.
//! Does not know what the text means.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// Largest policy or file of cases, in bytes: 4 MiB, as the parser has it.
pub(crate) const SOURCE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A text and what it is called in messages.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What a file should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Policy,
    Cases,
}

/// A file that cannot be worked with.
#[derive(Debug)]
pub(crate) struct Unread {
    /// The file, as messages call it.
    pub(crate) name: String,
    /// What it should hold: the cure depends on it.
    content: Content,
    fault: SourceFault,
}

/// Why a file is no text to work with.
#[derive(Debug)]
enum SourceFault {
    Missing,
    Directory,
    Empty,
    TooLarge,
    /// At this byte, from 0.
    NotText(usize),
    Unreadable(io::Error),
}

impl Source {
    /// Reads the file; `-` is stdin.
    pub(crate) fn read(path: &Path, content: Content) -> Result<Source, Unread> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { "<stdin>".to_owned() } else { path.display().to_string() };
        let text = if is_stdin { text_of(io::stdin().lock()) } else { text_of_file(path) };
        match text {
            Ok(text) => Ok(Source { name, text }),
            Err(fault) => Err(Unread { name, content, fault }),
        }
    }
}

/// Stdin can be read once.
pub(crate) fn refuse_stdin_twice<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<(), Problem> {
    match paths.into_iter().filter(|path| path.as_os_str() == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Problem::Usage("stdin (-) can be read once; name the other file".to_owned())),
    }
}

fn text_of_file(path: &Path) -> Result<String, SourceFault> {
    let file = File::open(path).map_err(SourceFault::from)?;
    let metadata = file.metadata().map_err(SourceFault::from)?;
    if metadata.is_dir() {
        return Err(SourceFault::Directory);
    }
    if metadata.len() > SOURCE_BYTES_MAX {
        return Err(SourceFault::TooLarge);
    }
    text_of(file)
}

fn text_of(reader: impl Read) -> Result<String, SourceFault> {
    let mut bytes = Vec::new();
    // One byte more tells what is too large from what just fits; a pipe does not say how long it is.
    reader.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(SourceFault::from)?;
    if bytes.len() as u64 > SOURCE_BYTES_MAX {
        return Err(SourceFault::TooLarge);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(SourceFault::Empty);
    }
    String::from_utf8(bytes).map_err(|error| SourceFault::NotText(error.utf8_error().valid_up_to()))
}

impl From<io::Error> for SourceFault {
    fn from(error: io::Error) -> SourceFault {
        match error.kind() {
            io::ErrorKind::NotFound => SourceFault::Missing,
            io::ErrorKind::IsADirectory => SourceFault::Directory,
            _ => SourceFault::Unreadable(error),
        }
    }
}

impl Unread {
    /// What is wrong and what to do, to follow the file's name.
    pub(crate) fn why(&self) -> String {
        let of = |policy: &'static str, cases: &'static str| match self.content {
            Content::Policy => policy,
            Content::Cases => cases,
        };
        match &self.fault {
            SourceFault::Missing => {
                let cure =
                    of("write a policy with `tollgate init`", "write cases as `tollgate test --help` shows");
                format!("there is no such file; check its name, or {cure}")
            }
            SourceFault::Directory => "it is a directory; name a file in it".to_owned(),
            SourceFault::Empty => {
                let cure = of(
                    "`tollgate init` writes a policy to start from",
                    "`tollgate test --help` shows a case to start from",
                );
                format!("it is empty; {cure}")
            }
            SourceFault::TooLarge => {
                let cure =
                    of("describe many clients by one rule and a key", "spread the cases over several files");
                format!("it is longer than {SOURCE_BYTES_MAX} bytes (4 MiB); {cure}")
            }
            SourceFault::NotText(at) => {
                format!("it is no text: byte {at} is not UTF-8; save it as UTF-8")
            }
            SourceFault::Unreadable(error) => format!("{error}; make it readable for you"),
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read '{}': {}", self.name, self.why())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_exactly_the_maximum_is_read_and_one_byte_more_is_not() {
        let text = |bytes: u64| text_of(io::repeat(b'a').take(bytes)).map(|text| text.len() as u64);
        assert!(matches!(text(SOURCE_BYTES_MAX), Ok(SOURCE_BYTES_MAX)));
        assert!(matches!(text(SOURCE_BYTES_MAX + 1), Err(SourceFault::TooLarge)));
        assert!(matches!(text(u64::MAX), Err(SourceFault::TooLarge)), "endless input ends");
    }

    #[test]
    fn blank_and_garbled_texts_are_told_apart() {
        assert!(matches!(text_of(&b" \n\t"[..]), Err(SourceFault::Empty)));
        assert!(matches!(text_of(&b"a: \xff"[..]), Err(SourceFault::NotText(3))));
    }
}
