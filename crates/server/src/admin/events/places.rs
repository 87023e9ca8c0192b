//! How many streams there may be: of all callers together, and of each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::Problem;

/// Streams at a time.
const STREAMS_MAX: usize = 64;
/// Streams of one caller at a time.
const STREAMS_OF_CALLER_MAX: usize = 4;
/// What part of the door's connections may be streams: one in so many. The others are for health, and for whoever acts.
const CONNECTIONS_PER_STREAM: usize = 4;

/// The places of streams.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    free: Arc<Semaphore>,
    /// Streams of each caller who has any.
    taken: Mutex<HashMap<String, usize>>,
}

/// A place; free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    who: String,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    /// Those of a door with so many connections.
    pub(super) fn of_door(connections: usize) -> Places {
        let most = STREAMS_MAX.min(connections / CONNECTIONS_PER_STREAM);
        Places { most, free: Arc::new(Semaphore::new(most)), taken: Mutex::default() }
    }

    /// A place for this caller, or why there is none.
    pub(super) fn take(self: &Arc<Places>, who: String) -> Result<Place, Problem> {
        let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
            let detail = format!("there are {} subscribers already; try again when one has left", self.most);
            return Err(Problem::unavailable(detail).because("too_many_subscribers"));
        };
        let mut taken = self.taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let of_caller = taken.entry(who.clone()).or_default();
        if *of_caller >= STREAMS_OF_CALLER_MAX {
            let detail =
                format!("you have {STREAMS_OF_CALLER_MAX} streams already; close one, and try again");
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).because("too_many_streams");
            return Err(problem.with_header("retry-after", "1"));
        }
        *of_caller += 1;
        drop(taken);
        Ok(Place { places: Arc::clone(self), who, _permit: permit })
    }

    /// Lets nobody in any more.
    pub(super) fn close(&self) {
        self.free.close();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match taken.get_mut(&self.who) {
            Some(of_caller) if *of_caller > 1 => *of_caller -= 1,
            _ => drop(taken.remove(&self.who)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_take_a_quarter_of_the_door_at_most() {
        for (connections, most) in [(10_000, 64), (256, 64), (32, 8), (10, 2), (3, 0)] {
            let places = Arc::new(Places::of_door(connections));
            let taken: Vec<Place> =
                (0..connections).map_while(|who| places.take(who.to_string()).ok()).collect();
            assert_eq!(taken.len(), most, "{connections}");
        }
    }

    #[test]
    fn a_place_is_free_again_when_its_stream_is_over() {
        let places = Arc::new(Places::of_door(10_000));
        for _ in 0..3 {
            let taken: Vec<Place> = (0..10).map_while(|_| places.take("ann".to_owned()).ok()).collect();
            assert_eq!(taken.len(), STREAMS_OF_CALLER_MAX);
            assert!(places.take("eve".to_owned()).is_ok());
        }
        assert!(places.taken.lock().unwrap().is_empty(), "nobody is remembered");
        assert_eq!(places.free.available_permits(), STREAMS_MAX);
    }
}
