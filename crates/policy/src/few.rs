//! A list that lives on the stack while it is short.
//!
//! Promises that nothing is lost: what does not fit goes to the heap, which is the one way in which a request can allocate.

use arrayvec::ArrayVec;

/// Up to `N` items in place, more on the heap.
#[derive(Debug)]
pub(crate) struct Few<T, const N: usize> {
    inline: ArrayVec<T, N>,
    spilled: Vec<T>,
}

impl<T: Copy, const N: usize> Few<T, N> {
    /// An empty list.
    pub(crate) fn new() -> Few<T, N> {
        Few { inline: ArrayVec::new(), spilled: Vec::new() }
    }

    /// Adds an item at the end.
    pub(crate) fn push(&mut self, item: T) {
        if self.spilled.is_empty() {
            if self.inline.try_push(item).is_ok() {
                return;
            }
            self.spilled.extend_from_slice(&self.inline);
        }
        self.spilled.push(item);
    }

    /// Sorts the items and keeps each once.
    pub(crate) fn sort_and_dedup(&mut self)
    where
        T: Ord,
    {
        let items = self.as_mut_slice();
        items.sort_unstable();
        let mut kept = 0;
        for at in 0..items.len() {
            if at == 0 || items[at] != items[kept - 1] {
                items[kept] = items[at];
                kept += 1;
            }
        }
        self.inline.truncate(kept);
        self.spilled.truncate(kept);
    }

    /// All items in order, to be changed.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        if self.spilled.is_empty() { &mut self.inline } else { &mut self.spilled }
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn a_long_list_keeps_every_item_in_order() {
        for len in [0, 1, 3, 4, 5, 100] {
            let mut few: Few<usize, 4> = Few::new();
            for item in 0..len {
                few.push(item);
            }
            assert_eq!(few.as_mut_slice(), (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_sorted_list_has_every_item_once() {
        for len in [0, 1, 3, 4, 5, 100] {
            let mut few: Few<usize, 4> = Few::new();
            for item in 0..len {
                few.push(len - item);
                few.push(len - item);
            }
            few.sort_and_dedup();
            assert_eq!(few.as_mut_slice(), (1..=len).collect::<Vec<_>>());
        }
    }
}
