//! Who has signed in, in bounded memory. It asks nobody: whether the token still stands, the keyring says each time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate::{Moment, Span};

use super::session_id::SessionDigest;
use crate::admin::caller::Caller;

/// Sessions at a time; of more, the oldest go.
pub(super) const SESSIONS_MAX: usize = 1_000;
/// Sessions of one token at a time; the same.
const SESSIONS_OF_TOKEN_MAX: usize = 16;
/// How long a session lasts.
pub(super) const SESSION_TIME_MAX: Span = Span::from_secs(12 * 3_600);
/// How long one lasts that asks nothing.
const IDLE_TIME_MAX: Span = Span::from_secs(2 * 3_600);

/// The sessions of this instance.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<SessionDigest, Session>>);

#[derive(Debug)]
struct Session {
    caller: Caller,
    began: Moment,
    /// When it asked last.
    seen: Moment,
    /// Its token is no good any more.
    is_ended: bool,
}

/// Whose session it is.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::admin) enum Found {
    /// This one's.
    Holder(Caller),
    /// It was somebody's, and is over.
    Over,
    /// Nobody's, or nobody remembers.
    Unknown,
}

impl Sessions {
    /// Opens a session for the holder of a token.
    pub(super) fn open(&self, digest: SessionDigest, caller: &Caller, now: Moment) {
        let mut open = self.lock();
        open.retain(|_, session| !session.is_over(now));
        make_room(&mut open, SESSIONS_OF_TOKEN_MAX, |session| session.caller.token == caller.token);
        make_room(&mut open, SESSIONS_MAX, |_| true);
        let caller = Caller { session: Some(digest), ..caller.clone() };
        open.insert(digest, Session { caller, began: now, seen: now, is_ended: false });
    }

    /// Whose session it is that asks now.
    pub(in crate::admin) fn find(&self, digest: SessionDigest, now: Moment) -> Found {
        let mut open = self.lock();
        match open.get_mut(&digest) {
            None => Found::Unknown,
            Some(session) if session.is_over(now) => {
                open.remove(&digest);
                Found::Over
            }
            Some(session) => {
                session.seen = now;
                Found::Holder(session.caller.clone())
            }
        }
    }

    /// Whether it is still open; to be looked at is not to ask.
    pub(in crate::admin) fn is_open(&self, digest: SessionDigest, now: Moment) -> bool {
        self.lock().get(&digest).is_some_and(|session| !session.is_over(now))
    }

    pub(in crate::admin) fn end(&self, digest: SessionDigest) {
        self.lock().remove(&digest);
    }

    /// Ends every session of a token. Who comes with one is told that it is over.
    pub(in crate::admin) fn end_of(&self, token_id: &str) {
        for session in self.lock().values_mut() {
            session.is_ended |= session.caller.token.as_deref() == Some(token_id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionDigest, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn is_over(&self, now: Moment) -> bool {
        self.is_ended || now.since(self.began) >= SESSION_TIME_MAX || now.since(self.seen) >= IDLE_TIME_MAX
    }
}

/// Ends the oldest of some sessions until there are fewer than `most`.
fn make_room(open: &mut HashMap<SessionDigest, Session>, most: usize, is_meant: impl Fn(&Session) -> bool) {
    while open.values().filter(|session| is_meant(session)).count() >= most {
        let meant = open.iter().filter(|(_, session)| is_meant(session));
        let Some((oldest, _)) = meant.min_by_key(|(_, session)| session.began) else { return };
        let oldest = *oldest;
        open.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use tollgate_records::Role;

    use super::*;

    fn caller(token: usize) -> Caller {
        let token = Some(token.to_string());
        Caller { name: "ann".to_owned(), token, role: Role::Viewer, session: None }
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    fn is_held(sessions: &Sessions, number: usize, seconds: u64) -> bool {
        matches!(sessions.find(SessionDigest::numbered(number), at(seconds)), Found::Holder(_))
    }

    #[test]
    fn a_session_is_its_tokens_holder_until_it_is_ended() {
        let sessions = Sessions::default();
        let digest = SessionDigest::numbered(1);
        assert_eq!(sessions.find(digest, at(0)), Found::Unknown);
        sessions.open(digest, &caller(7), at(0));
        let held = Caller { session: Some(digest), ..caller(7) };
        assert_eq!(sessions.find(digest, at(1)), Found::Holder(held));
        sessions.end(digest);
        assert_eq!(sessions.find(digest, at(1)), Found::Unknown);
        sessions.open(digest, &caller(7), at(2));
        sessions.end_of("8");
        assert!(is_held(&sessions, 1, 2));
        sessions.end_of("7");
        assert_eq!(sessions.find(digest, at(2)), Found::Over);
        assert_eq!(sessions.find(digest, at(2)), Found::Unknown);
    }

    #[test]
    fn a_session_is_over_after_two_hours_of_silence_and_after_twelve_hours() {
        let sessions = Sessions::default();
        sessions.open(SessionDigest::numbered(1), &caller(1), at(0));
        sessions.open(SessionDigest::numbered(2), &caller(1), at(0));
        assert!(is_held(&sessions, 1, 7_199));
        assert!(!sessions.is_open(SessionDigest::numbered(2), at(7_200)));
        assert_eq!(sessions.find(SessionDigest::numbered(2), at(7_200)), Found::Over);
        assert_eq!(sessions.find(SessionDigest::numbered(2), at(7_200)), Found::Unknown);
        for hour in 2..12 {
            assert!(is_held(&sessions, 1, hour * 3_600), "{hour}");
        }
        assert!(!sessions.is_open(SessionDigest::numbered(1), at(12 * 3_600)));
        assert_eq!(sessions.find(SessionDigest::numbered(1), at(12 * 3_600)), Found::Over);
    }

    #[test]
    fn a_token_has_sixteen_sessions_and_the_oldest_goes() {
        let sessions = Sessions::default();
        sessions.open(SessionDigest::numbered(100), &caller(2), at(0));
        for number in 0..17 {
            sessions.open(SessionDigest::numbered(number), &caller(1), at(1 + number as u64));
        }
        let held = (0..17).filter(|number| is_held(&sessions, *number, 20)).collect::<Vec<_>>();
        assert_eq!(held, (1..17).collect::<Vec<_>>());
        assert!(is_held(&sessions, 100, 20), "another token's stays");
    }

    #[test]
    fn there_are_a_thousand_sessions_at_most() {
        let sessions = Sessions::default();
        for number in 0..1_100 {
            sessions.open(SessionDigest::numbered(number), &caller(number), at(number as u64));
        }
        assert_eq!(sessions.lock().len(), SESSIONS_MAX);
        assert!(!is_held(&sessions, 99, 1_100) && is_held(&sessions, 100, 1_100));
        // Those that are over make room for nobody's harm.
        sessions.open(SessionDigest::numbered(5_000), &caller(1), at(100_000));
        assert_eq!(sessions.lock().len(), 1);
    }
}
