//! Rounds of several contenders, one after the other within each, so that a disturbance of the machine hits all alike.

use crate::problem::Problem;

/// Who runs. A round gives the nanoseconds that a request took.
pub(crate) type Contender<'a> = Box<dyn FnMut() -> Result<f64, Problem> + 'a>;

/// The nanoseconds of each contender, round by round.
pub(crate) fn run(contenders: &mut [Contender<'_>], rounds: usize) -> Result<Vec<Vec<f64>>, Problem> {
    let mut nanos = vec![Vec::with_capacity(rounds); contenders.len()];
    for number in 0..rounds {
        // Another one begins each round: nobody always follows the same neighbour's cache misses.
        for turn in 0..contenders.len() {
            let at = (number + turn) % contenders.len();
            nanos[at].push(contenders[at]()?);
        }
    }
    Ok(nanos)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Contender, run};

    #[test]
    fn every_round_has_every_contender_once_and_another_begins() {
        let order = RefCell::new(String::new());
        let contender = |name: &'static str, nanos: f64| -> Contender<'_> {
            let order = &order;
            Box::new(move || {
                order.borrow_mut().push_str(name);
                Ok(nanos)
            })
        };
        let mut contenders = [contender("a", 1.0), contender("b", 2.0), contender("c", 3.0)];
        assert_eq!(run(&mut contenders, 2), Ok(vec![vec![1.0; 2], vec![2.0; 2], vec![3.0; 2]]));
        drop(contenders);
        assert_eq!(order.into_inner(), "abcbca");
    }
}
