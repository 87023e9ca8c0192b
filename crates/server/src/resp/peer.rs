//! Who is at the other end of a connection, as far as it matters here.

use std::sync::Arc;

use super::Settings;
use super::reply::Protocol;
use super::transaction::Transaction;

/// The only user there is, as in a Redis without access lists.
const USER: &[u8] = b"default";
/// Longest name that a client may give its connection, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 128;

/// The state of one connection between two requests.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) settings: Arc<Settings>,
    /// What `CLIENT ID` says.
    pub(super) id: u64,
    pub(super) protocol: Protocol,
    /// Whether it gave the password, or none is needed.
    pub(super) is_authenticated: bool,
    /// Whether nothing more is to be read from it.
    pub(super) is_closing: bool,
    /// What it calls itself; empty if nothing.
    pub(super) name: Box<[u8]>,
    /// The transaction that `MULTI` began.
    pub(super) transaction: Option<Transaction>,
    /// Transactions since the connection opened.
    pub(super) transactions: u64,
    /// Wrong passwords since the connection opened.
    pub(super) wrong_passwords: u32,
    /// Wrong passwords since the connection opened or sent the right one.
    wrong_in_a_row: u32,
}

impl Peer {
    pub(super) fn new(settings: Arc<Settings>, id: u64) -> Self {
        let is_authenticated = settings.password.is_none();
        Peer {
            settings,
            id,
            protocol: Protocol::default(),
            is_authenticated,
            is_closing: false,
            name: Box::default(),
            transaction: None,
            transactions: 0,
            wrong_passwords: 0,
            wrong_in_a_row: 0,
        }
    }

    /// As when it connected: `RESET`. Wrong passwords stay counted.
    pub(super) fn reset(&mut self) {
        let Peer { transactions, wrong_passwords, wrong_in_a_row, .. } = *self;
        let new = Peer::new(Arc::clone(&self.settings), self.id);
        *self = Peer { transactions, wrong_passwords, wrong_in_a_row, ..new };
    }

    /// Takes a user and a password; whether they are right. A wrong password leaves the connection as it is, is counted, and closes the
    /// connection after [`super::Limits::wrong_passwords_max`] in a row.
    pub(super) fn authenticate(&mut self, user: &[u8], guess: &[u8]) -> bool {
        // The password is compared whoever the user is said to be, so that the time does not tell.
        let knows_password = self.settings.password.as_ref().is_none_or(|password| password.is(guess));
        let is_right = knows_password && user == USER;
        self.is_authenticated |= is_right;
        if is_right {
            self.wrong_in_a_row = 0;
        } else if self.settings.password.is_some() {
            self.wrong_passwords = self.wrong_passwords.saturating_add(1);
            self.wrong_in_a_row += 1;
            self.is_closing |= self.wrong_in_a_row >= self.settings.limits.wrong_passwords_max;
        }
        is_right
    }

    /// Takes a password for the only user.
    pub(super) fn authenticate_default(&mut self, guess: &[u8]) -> bool {
        self.authenticate(USER, guess)
    }

    /// Takes a name; why not, if it is none. As in Redis, a name is printable and without spaces, and an empty one takes it away.
    pub(super) fn rename(&mut self, name: &[u8]) -> Result<(), &'static str> {
        if !name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
            return Err("ERR Client names cannot contain spaces, newlines or special characters.");
        }
        if name.len() > NAME_BYTES_MAX {
            return Err("ERR Client names cannot be longer than 128 bytes.");
        }
        self.name = name.into();
        Ok(())
    }
}
