//! Where the doors of the demo are: where they usually are, or, where somebody else is there, at a free port.

use std::io;
use std::net::TcpListener;

use tollgate_server::{Door, Known};

/// A door of the demo.
pub(super) struct Place {
    door: Door,
    /// As `host:port`.
    pub(super) address: String,
    /// Where it usually is, if somebody else is there.
    taken: Option<&'static str>,
}

/// All of them.
pub(super) struct Doors {
    pub(super) http: Place,
    pub(super) resp: Place,
    pub(super) admin: Place,
}

impl Doors {
    /// Looks for a place for each.
    pub(super) fn find() -> io::Result<Doors> {
        Ok(Doors {
            http: Place::find(Door::Http)?,
            resp: Place::find(Door::Resp)?,
            admin: Place::find(Door::Admin)?,
        })
    }

    /// The page's address, by which one is signed in.
    pub(super) fn page(&self, token: &str) -> String {
        format!("http://{}/#sign-in={token}", self.admin.address)
    }

    /// A line for each door that is not where it usually is.
    pub(super) fn moved(&self) -> impl Iterator<Item = String> {
        [&self.http, &self.resp, &self.admin].into_iter().filter_map(|place| {
            let taken = place.taken?;
            Some(format!("{taken} is taken, so the {} door is at {}.", place.door, place.address))
        })
    }
}

impl Place {
    fn find(door: Door) -> io::Result<Place> {
        let usual = Known::named(door.name()).map_or("", |known| known.usual);
        Place::at_or_elsewhere(door, usual)
    }

    fn at_or_elsewhere(door: Door, usual: &'static str) -> io::Result<Place> {
        // The listener is gone before the service opens the door: whoever takes the port in between is told of by the service.
        if TcpListener::bind(usual).is_ok() {
            return Ok(Place { door, address: usual.to_owned(), taken: None });
        }
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        Ok(Place { door, address, taken: Some(usual) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Door, Doors, Place, TcpListener};

    #[test]
    fn a_door_whose_place_is_taken_is_elsewhere_and_says_so() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let usual: &'static str = other.local_addr().unwrap().to_string().leak();
        let moved = Place::at_or_elsewhere(Door::Admin, usual).unwrap();
        assert_ne!(moved.address, usual);
        let at = moved.address.clone();
        let stays = |door| Place { door, address: "127.0.0.1:1".to_owned(), taken: None };
        let doors = Doors { http: stays(Door::Http), resp: stays(Door::Resp), admin: moved };
        let said: Vec<String> = doors.moved().collect();
        assert_eq!(said, [format!("{usual} is taken, so the admin door is at {at}.")]);
        assert_eq!(doors.page("tg_x"), format!("http://{at}/#sign-in=tg_x"));
    }
}
