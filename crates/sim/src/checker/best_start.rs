//! For every possible start of an interval: what was admitted from there on. And which start is the worst.
//!
//! A balanced tree over the starts in order. An event is added at the rank of its own call and counts for every start up
//! to there; both that and asking for the best take O(log n). It does not know what the values mean.

/// The starts, each closed until it is opened with a value of its own.
pub(super) struct BestStart {
    /// A perfect tree: the children of `n` are `2n` and `2n + 1`; the leaves, in order, are the second half.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy)]
struct Node {
    /// Sum of what was added below this node.
    total: i128,
    /// The best open start below this node, counting what was added below it.
    best: i128,
}

/// Far below every value, and far enough from the end of `i128` to be added to.
const CLOSED: i128 = i128::MIN / 4;

impl BestStart {
    /// `starts` starts, all closed.
    pub(super) fn new(starts: usize) -> BestStart {
        let leaves = starts.next_power_of_two();
        BestStart { nodes: vec![Node { total: 0, best: CLOSED }; 2 * leaves] }
    }

    /// Gives the start at `rank` its own value.
    pub(super) fn open(&mut self, rank: usize, value: i128) {
        let leaf = self.leaf(rank);
        let opened = self.nodes[leaf].total + value;
        if self.nodes[leaf].best != opened {
            self.nodes[leaf].best = opened;
            self.carry_up(leaf);
        }
    }

    /// Adds `amount` to every start up to `rank`, which must be open.
    pub(super) fn add(&mut self, rank: usize, amount: i128) {
        let leaf = self.leaf(rank);
        self.nodes[leaf].total += amount;
        self.nodes[leaf].best += amount;
        self.carry_up(leaf);
    }

    /// The largest value of an open start.
    pub(super) fn value(&self) -> i128 {
        self.nodes[1].best
    }

    /// The rank that has it.
    pub(super) fn rank(&self) -> usize {
        let mut node = 1;
        while node < self.leaf(0) {
            let (left, right) = (2 * node, 2 * node + 1);
            node = if self.nodes[right].best == self.nodes[node].best { right } else { left };
        }
        node - self.leaf(0)
    }

    fn leaf(&self, rank: usize) -> usize {
        self.nodes.len() / 2 + rank
    }

    fn carry_up(&mut self, leaf: usize) {
        let mut node = leaf / 2;
        while node > 0 {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            self.nodes[node] = Node {
                total: left.total + right.total,
                best: right.best.max(left.best.saturating_add(right.total)),
            };
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_counts_for_every_start_before_it() {
        let mut best = BestStart::new(3);
        best.open(0, -10);
        best.add(0, 4);
        best.open(2, -5);
        best.add(2, 7);
        assert_eq!((best.value(), best.rank()), (2, 2));
        best.open(1, 0);
        assert_eq!((best.value(), best.rank()), (7, 1), "a start without an event of its own counts too");
        best.add(0, 20);
        assert_eq!((best.value(), best.rank()), (21, 0));
    }

    #[test]
    fn opening_again_changes_nothing() {
        let mut best = BestStart::new(1);
        best.open(0, -10);
        best.add(0, 4);
        best.open(0, -10);
        assert_eq!((best.value(), best.rank()), (-6, 0));
    }
}
