//! What is seen by looking again and again, for changes that nobody tells: on a network's file system, or far above the file.
//!
//! Decides by what it is shown; it looks at nothing itself. Promises that a file is quiet before it is read.

use super::way::Way;

/// Looks that must be equal before a change is believed.
const EQUAL_MIN: u32 = 2;
/// The same while somebody has the file open for writing: ten seconds, for those who never close it.
const EQUAL_MIN_WRITTEN: u32 = 20;

/// The ways as they were when the files were last read, and as they were seen since.
#[derive(Debug, Default)]
pub(super) struct Looks {
    read: Vec<Way>,
    /// Other than those, and how often they looked like this.
    seen: Option<(Vec<Way>, u32)>,
}

impl Looks {
    /// The files are read now, after they looked like this.
    pub(super) fn note_read(&mut self, ways: Vec<Way>) {
        *self = Looks { read: ways, seen: None };
    }

    /// The files look like this now. Whether to read them.
    pub(super) fn note_seen(&mut self, ways: Vec<Way>, is_being_written: bool) -> bool {
        if ways == self.read {
            self.seen = None;
            return false;
        }
        let count = match self.seen.take() {
            Some((before, count)) if before == ways => count.saturating_add(1),
            _ => 1,
        };
        self.seen = Some((ways, count));
        count >= if is_being_written { EQUAL_MIN_WRITTEN } else { EQUAL_MIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_change_is_believed_when_it_looks_the_same_again() {
        let [old, new, newer] = ["/old", "/new", "/newer"].map(|name| vec![Way::to(Path::new(name))]);
        let mut looks = Looks::default();
        looks.note_read(old.clone());
        let shown = [&old, &new, &newer, &old, &newer, &newer];
        let believed = shown.map(|ways| looks.note_seen(ways.clone(), false));
        assert_eq!(believed, [false, false, false, false, false, true]);
        looks.note_read(newer.clone());
        assert!(!looks.note_seen(newer, false));
        assert_eq!((0..30).position(|_| looks.note_seen(new.clone(), true)), Some(19), "open for writing");
    }
}
