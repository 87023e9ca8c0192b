//! One figure of each of the last seconds, in room that is taken once.

/// Seconds that are remembered.
pub(crate) const SECONDS_MAX: usize = 900;

/// The figures by the number of their second.
#[derive(Debug, Clone)]
pub(super) struct Ring<T>(Box<[T]>);

impl<T: Copy> Ring<T> {
    pub(super) fn filled(with: T) -> Ring<T> {
        Ring(vec![with; SECONDS_MAX].into_boxed_slice())
    }

    /// The figure of a second. That of [`SECONDS_MAX`] later has the same place.
    pub(super) fn at(&mut self, second: u64) -> &mut T {
        let at = place(second, self.0.len());
        &mut self.0[at]
    }

    pub(super) fn get(&self, second: u64) -> T {
        self.0[place(second, self.0.len())]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "less than the length, which is a usize")]
fn place(second: u64, length: usize) -> usize {
    (second % length as u64) as usize
}
