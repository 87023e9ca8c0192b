//! Operations of a batch that stand next to one another and are sent as one item: checks that are alike but for their keys.
//!
//! A batch is divided in the same way when it is sent and when the answer is read.

use crate::item::{Item, Wanted};

/// Most key numbers of one item: what it is told must fit on the stack of the server's Lua.
pub(crate) const KEY_NUMBERS_MAX: usize = 1_024;

/// A piece of a batch.
#[derive(Debug)]
pub(crate) enum Run<'i> {
    /// Checks of the same limits, costs and shares; at least one.
    Many(&'i [Item]),
    /// Any other operation.
    One(&'i Item),
}

/// All of a batch, piece by piece, in its order.
pub(crate) fn runs(items: &[Item]) -> impl Iterator<Item = Run<'_>> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let (first, others) = rest.split_first()?;
        let Item::Check { wanted: alike } = first else {
            rest = others;
            return Some(Run::One(first));
        };
        let most = (KEY_NUMBERS_MAX / alike.len().max(1)).max(1);
        let is_other = |item: &Item| !matches!(item, Item::Check { wanted } if are_alike(wanted, alike));
        let length = rest.iter().take(most).position(is_other).unwrap_or(rest.len().min(most));
        let (many, others) = rest.split_at(length);
        rest = others;
        Some(Run::Many(many))
    })
}

fn are_alike(one: &[Wanted], other: &[Wanted]) -> bool {
    let what = |wanted: &Wanted| (wanted.limit, wanted.cost, wanted.keep);
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| what(one) == what(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::KeyRef;
    use tollgate_core::BucketSet;

    fn check(buckets: usize, cost: u64) -> Item {
        let wanted = Wanted { key: KeyRef::Value(1), limit: 0, cost, keep: 0, members: BucketSet::of(0) };
        Item::Check { wanted: vec![wanted; buckets] }
    }

    /// How many operations each piece has; 0 of one that is no check.
    fn lengths(items: &[Item]) -> Vec<usize> {
        let length = |run| match run {
            Run::Many(items) => items.len(),
            Run::One(_) => 0,
        };
        runs(items).map(length).collect()
    }

    #[test]
    fn checks_that_are_alike_go_together_and_nothing_changes_its_place() {
        let reset = Item::Reset { key: KeyRef::Value(1), limit: 0 };
        let items = [check(1, 5), check(1, 5), check(2, 5), reset, check(1, 5), check(1, 6), check(1, 6)];
        assert_eq!(lengths(&items), [2, 1, 0, 1, 2]);
        assert_eq!(lengths(&[]), [0_usize; 0]);
    }

    #[test]
    fn no_piece_has_more_key_numbers_than_the_script_takes() {
        assert_eq!(lengths(&vec![check(1, 5); 1_024]), [1_024]);
        assert_eq!(lengths(&vec![check(3, 5); 700]), [341, 341, 18]);
        assert_eq!(lengths(&vec![check(16, 5); 65]), [64, 1]);
    }
}
