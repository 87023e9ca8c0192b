//! The longest input that a DFA reads before it knows the result, found in the DFA itself instead of by trying inputs.

use regex_automata::Anchored;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::alphabet::Unit;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;

use super::REGEX_INPUT_BYTES_MAX;

/// Returns how many bytes the worst input makes the DFA read; at most [`REGEX_INPUT_BYTES_MAX`].
///
/// A state is undecided if neither a match nor a failure is certain. If undecided states form a cycle, some input keeps the DFA in it
/// to the end. Otherwise the longest way through them, and one byte more, is the worst input. Linear in the size of the DFA.
pub(super) fn bytes_read_max(dfa: &dense::DFA<Vec<u32>>) -> usize {
    let from_start = start::Config::new().anchored(Anchored::No);
    let Ok(start) = dfa.start_state(&from_start) else { return REGEX_INPUT_BYTES_MAX };
    let undecided = Undecided::reachable(dfa, start);
    undecided.longest_way(start).map_or(REGEX_INPUT_BYTES_MAX, |way| (way + 1).min(REGEX_INPUT_BYTES_MAX))
}

/// The undecided states that can be reached, with the number of transitions that lead to each; `None` for other states.
struct Undecided<'d> {
    dfa: &'d dense::DFA<Vec<u32>>,
    bytes: Vec<u8>,
    incoming: Vec<Option<usize>>,
    count: usize,
}

impl<'d> Undecided<'d> {
    fn reachable(dfa: &'d dense::DFA<Vec<u32>>, start: StateID) -> Undecided<'d> {
        let bytes = dfa.byte_classes().representatives(0..=u8::MAX).filter_map(Unit::as_u8).collect();
        let states = dfa.memory_usage() / dfa.stride() + 1;
        let mut found = Undecided { dfa, bytes, incoming: vec![None; states], count: 1 };
        let mut open = vec![start];
        found.set(start, 0);
        while let Some(state) = open.pop() {
            for next in found.after(state) {
                let incoming = found.get(next);
                if incoming.is_none() {
                    open.push(next);
                    found.count += 1;
                }
                found.set(next, incoming.unwrap_or(0) + 1);
            }
        }
        found
    }

    /// The undecided states that one byte leads to, once for each class of bytes.
    fn after(&self, state: StateID) -> Vec<StateID> {
        let next = self.bytes.iter().map(|byte| self.dfa.next_state(state, *byte));
        next.filter(|next| !self.dfa.is_dead_state(*next) && !self.dfa.is_match_state(*next)).collect()
    }

    /// Number of bytes of the longest way from `start` through undecided states; `None` if there is a cycle.
    fn longest_way(mut self, start: StateID) -> Option<usize> {
        if self.get(start) != Some(0) {
            return None;
        }
        // A state is visited when all ways to it are known, so the last one to come is the longest.
        let (mut open, mut visited, mut longest) = (vec![(start, 0)], 0, 0);
        let mut ways = vec![0; self.incoming.len()];
        while let Some((state, way)) = open.pop() {
            visited += 1;
            longest = longest.max(way);
            for next in self.after(state) {
                let at = self.index(next);
                ways[at] = ways[at].max(way + 1);
                let left = self.get(next).unwrap_or(0).saturating_sub(1);
                self.set(next, left);
                if left == 0 {
                    open.push((next, ways[at]));
                }
            }
        }
        (visited == self.count).then_some(longest)
    }

    fn index(&self, state: StateID) -> usize {
        state.as_usize() >> self.dfa.stride2()
    }

    fn get(&self, state: StateID) -> Option<usize> {
        self.incoming.get(self.index(state)).copied().flatten()
    }

    fn set(&mut self, state: StateID, incoming: usize) {
        let at = self.index(state);
        if let Some(place) = self.incoming.get_mut(at) {
            *place = Some(incoming);
        }
    }
}
