//! Files that are small texts: the file of settings, and files that hold one secret each.

use std::fs::File;
use std::io::Read;

/// Longest file of settings, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 64 * 1_024;
/// Longest secret, in bytes.
const SECRET_BYTES_MAX: usize = 4_096;

/// The text of a file, or why there is none and what to do.
pub(super) fn text_of(path: &str, bytes_max: usize) -> Result<String, String> {
    let file = File::open(path).map_err(|error| format!("{error}; name a file that can be read"))?;
    let mut bytes = Vec::new();
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{error}; name a file that can be read"))?;
    if bytes.len() > bytes_max {
        return Err(format!("the file is longer than {bytes_max} bytes; shorten it"));
    }
    String::from_utf8(bytes).map_err(|_| "the file is no text; save it as UTF-8".to_owned())
}

/// The secret in a file, without the line end that editors add.
pub fn read(path: &str) -> Result<String, String> {
    let text = text_of(path, SECRET_BYTES_MAX)?;
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    Ok(secret.strip_suffix('\r').unwrap_or(secret).to_owned())
}
