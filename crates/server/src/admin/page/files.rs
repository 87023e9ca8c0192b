//! The files of the page, as the web build leaves them.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use rust_embed::RustEmbed;

/// What `cargo xtask web` has built. Nothing, where there was no Node.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Built;

/// A file of the page.
pub(in crate::admin) struct File {
    pub(in crate::admin) bytes: Bytes,
    /// Tells it from every other: a part of its hash, in hexadecimal digits.
    pub(in crate::admin) tag: String,
}

/// Where files are found by name.
#[derive(Clone, Copy)]
pub(in crate::admin) struct Files(fn(&str) -> Option<File>);

impl Files {
    /// Those that are looked up in this way.
    #[cfg(test)]
    pub(in crate::admin) fn by(find: fn(&str) -> Option<File>) -> Files {
        Files(find)
    }

    /// A file; the name is one of a [`super::place::Place`].
    pub(super) fn find(self, name: &str) -> Option<File> {
        (self.0)(name)
    }
}

/// Those that were built into the program.
impl Default for Files {
    fn default() -> Files {
        Files(|name| {
            let found = Built::get(name)?;
            let bytes = match found.data {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => Bytes::from(bytes),
            };
            Some(File { bytes, tag: tag_of(&found.metadata.sha256_hash()) })
        })
    }
}

fn tag_of(hash: &[u8; 32]) -> String {
    let (first, _) = hash.split_first_chunk().unwrap_or((&[0; 8], &[]));
    format!("{:016x}", u64::from_be_bytes(*first))
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_found_outside_of_the_folder() {
        // A program that is built without optimisation reads from the disk.
        for name in ["../package.json", "../../Cargo.toml", "/etc/passwd", "assets/../../package.json", ""] {
            assert!(Files::default().find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_tag_is_the_beginning_of_the_hash() {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&[0, 1, 2, 3, 0xfc, 0xfd, 0xfe, 0xff]);
        assert_eq!(tag_of(&hash), "00010203fcfdfeff");
    }
}
