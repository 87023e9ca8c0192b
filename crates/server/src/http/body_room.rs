//! Room for what is held while others are waited for: bytes of all connections together.
//!
//! A body that came in one piece is answered before anything else happens, so it needs none. Whoever finds no room is told 503 and
//! counted; nobody waits for room.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most bytes of bodies, of answers of HTTP/2, and of what is unfinished or not taken over the Redis protocol, that are held at a time.
pub(crate) const BODIES_BYTES_MAX: usize = 256 * 1_024 * 1_024;

/// Room that is left.
#[derive(Debug, Clone)]
pub(crate) struct BodyRoom(Arc<Semaphore>);

/// Room that is taken; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    room: BodyRoom,
    bytes: Option<OwnedSemaphorePermit>,
}

/// There is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl BodyRoom {
    pub(crate) fn new(bytes_max: usize) -> BodyRoom {
        BodyRoom(Arc::new(Semaphore::new(bytes_max)))
    }

    /// Nothing yet, to be added to.
    pub(crate) fn nothing(&self) -> Taken {
        Taken { room: self.clone(), bytes: None }
    }
}

impl Taken {
    /// Takes more.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let bytes = u32::try_from(bytes).map_err(|_| NoRoom)?;
        let more = Arc::clone(&self.room.0).try_acquire_many_owned(bytes).map_err(|_| NoRoom)?;
        match &mut self.bytes {
            Some(taken) => taken.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_so_much_room_and_no_more_and_it_is_given_back() {
        let room = BodyRoom::new(100);
        let (mut first, mut second) = (room.nothing(), room.nothing());
        assert_eq!((first.add(60), first.add(30)), (Ok(()), Ok(())));
        assert_eq!((second.add(11), second.add(10)), (Err(NoRoom), Ok(())));
        assert_eq!(first.add(usize::MAX), Err(NoRoom));
        drop(first);
        assert_eq!((second.add(91), second.add(90)), (Err(NoRoom), Ok(())));
    }
}
