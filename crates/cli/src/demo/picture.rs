//! Where a picture goes: the file that was asked for.
//!
//! An older picture is replaced. Does not know what is drawn.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::problem::Problem;

/// Writes the picture, and says so on stderr.
pub(crate) fn write(path: &Path, svg: &str) -> Result<(), Problem> {
    fs::write(path, svg).map_err(|error| Problem::Picture { path: path.to_owned(), error })?;
    // If that cannot be said, the picture is there nonetheless.
    let _ = writeln!(io::stderr(), "wrote {} ({} kB)", path.display(), svg.len().div_ceil(1_000));
    Ok(())
}
