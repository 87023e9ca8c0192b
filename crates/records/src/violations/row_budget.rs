//! How many rows all keys together may have stored each second: a flood of keys costs the database no more than this.

use std::sync::atomic::{AtomicU64, Ordering};

/// Clocks of threads differ by less; a count that is further ahead is of a clock that was set back.
const AHEAD_SECONDS_MAX: u64 = 2;

/// A count that begins anew each second.
#[derive(Debug)]
pub(crate) struct RowBudget {
    /// The second in the high half, rows in the low one.
    spent: AtomicU64,
    rows_per_second: u64,
}

impl RowBudget {
    pub(crate) fn new(rows_per_second: u32) -> RowBudget {
        RowBudget { spent: AtomicU64::new(0), rows_per_second: u64::from(rows_per_second) }
    }

    /// Takes one row of this second, if there is any left. Where none is, nothing is written.
    pub(crate) fn take(&self, second: i64) -> bool {
        let second = second.unsigned_abs() & u64::from(u32::MAX);
        self.spent
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |spent| {
                let (of, rows) = (spent >> 32, spent & u64::from(u32::MAX));
                let is_of_now = of >= second && of - second <= AHEAD_SECONDS_MAX;
                let (of, rows) = if is_of_now { (of, rows) } else { (second, 0) };
                (rows < self.rows_per_second).then_some(of << 32 | (rows + 1))
            })
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::RowBudget;

    #[test]
    fn each_second_has_so_many_rows() {
        let budget = RowBudget::new(3);
        let taken = |second| (0..10).filter(|_| budget.take(second)).count();
        assert_eq!((taken(100), taken(100), taken(101), taken(1_000)), (3, 0, 3, 3));
        assert_eq!((taken(999), taken(10)), (0, 3), "a thread that is late, and a clock that was set back");
        assert!(!RowBudget::new(0).take(1), "none is none");
    }
}
