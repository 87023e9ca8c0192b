//! What the server keeps of an open reservation, and what whoever settles it needs to know.
//!
//! ```text
//! 1 1790000000000000 700000000 0 0        the verdict, to be told again to a retry: time, then balance, wait and third number of each bucket
//! 700000000 1790000000000000              where the charge left each bucket, and when
//! …                                       the note: everything after the second line, as it was given
//! ```
//! The note that [`Note`] writes names every charge's bucket, its estimate and its limit, so that any node can settle what another reserved.

use tollgate_core::{Cost, Limit};

use crate::{KeyName, ReplyError, RuleIdentity};

/// Longest text of one field of a note, in bytes.
const FIELD_BYTES_MAX: usize = 4_096;

/// What a node writes down of a reservation for whoever settles it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Note {
    /// The charges, in their order. Several may be to one bucket.
    pub charges: Vec<NotedCharge>,
}

/// One charge of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedCharge {
    /// The name of its bucket.
    pub key: KeyName,
    /// What was charged.
    pub estimate: Cost,
    /// Where its limit comes from.
    pub limit: NotedLimit,
}

/// Where the limit of a bucket comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotedLimit {
    /// It is that of a rule, whatever it is by now.
    Rule(RuleIdentity),
    /// It came with the call.
    Explicit(Limit),
}

impl Note {
    /// The note as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = b"1 ".to_vec();
        for NotedCharge { key, estimate, limit } in &self.charges {
            push_field(&mut bytes, key.as_bytes());
            push_field(&mut bytes, estimate.as_micros().to_string().as_bytes());
            match limit {
                NotedLimit::Rule(rule) => {
                    push_field(&mut bytes, b"r");
                    push_field(&mut bytes, rule.policy().as_bytes());
                    push_field(&mut bytes, rule.name().as_bytes());
                }
                NotedLimit::Explicit(limit) => {
                    push_field(&mut bytes, b"e");
                    for term in limit.terms() {
                        push_field(&mut bytes, term.to_string().as_bytes());
                    }
                }
            }
        }
        bytes
    }

    /// The note in a reservation's record, as it was read from the server.
    pub fn of_record(record: &[u8]) -> Result<Note, ReplyError> {
        let mut parts = record.splitn(3, |byte| *byte == b'\n');
        let note = parts.nth(2).ok_or_else(|| ReplyError::new("the record of a reservation has no note"))?;
        let bad = || ReplyError::new("the note of a reservation was not written by this release");
        let mut fields = Fields { rest: note.strip_prefix(b"1 ").ok_or_else(bad)? };
        let mut charges = Vec::new();
        while !fields.rest.is_empty() {
            charges.push(fields.charge().ok_or_else(bad)?);
        }
        Ok(Note { charges })
    }
}

/// Fields, each after its length.
struct Fields<'n> {
    rest: &'n [u8],
}

impl<'n> Fields<'n> {
    fn charge(&mut self) -> Option<NotedCharge> {
        let key = KeyName::from_bytes(self.next()?.to_vec());
        let estimate = Cost::micros(self.number()?);
        let limit = match self.next()? {
            b"r" => NotedLimit::Rule(RuleIdentity::new(self.text()?, self.text()?)),
            b"e" => {
                NotedLimit::Explicit(Limit::from_terms([self.number()?, self.number()?, self.number()?])?)
            }
            _ => return None,
        };
        Some(NotedCharge { key, estimate, limit })
    }

    fn next(&mut self) -> Option<&'n [u8]> {
        let colon = self.rest.iter().take(5).position(|byte| *byte == b':')?;
        let length: usize = std::str::from_utf8(&self.rest[..colon]).ok()?.parse().ok()?;
        if length > FIELD_BYTES_MAX {
            return None;
        }
        let (field, rest) = self.rest[colon + 1..].split_at_checked(length)?;
        self.rest = rest;
        Some(field)
    }

    fn text(&mut self) -> Option<&'n str> {
        std::str::from_utf8(self.next()?).ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.text()?.parse().ok()
    }
}

/// A field longer than the longest is cut; no name or number is.
fn push_field(bytes: &mut Vec<u8>, field: &[u8]) {
    let field = &field[..field.len().min(FIELD_BYTES_MAX)];
    bytes.extend_from_slice(field.len().to_string().as_bytes());
    bytes.push(b':');
    bytes.extend_from_slice(field);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Burst, Rate};

    #[test]
    fn a_note_is_read_back_whatever_names_contain() {
        let limit = Limit::new(Rate::per_day(7), Burst::tokens(9)).unwrap();
        let charges = vec![
            NotedCharge {
                key: KeyName::from_bytes(b"tg:*:a:1\nb 3:".to_vec()),
                estimate: Cost::micros(1),
                limit: NotedLimit::Explicit(limit),
            },
            NotedCharge {
                key: KeyName::from_bytes(vec![0, 255, b'\n']),
                estimate: Cost::tokens(5),
                limit: NotedLimit::Rule(RuleIdentity::new("a\n", "b:c")),
            },
        ];
        let note = Note { charges };
        let record = [b"1 5 0 0 0\n3 4\n".as_slice(), &note.to_bytes()].concat();
        assert_eq!(Note::of_record(&record), Ok(note));
    }

    #[test]
    fn a_record_of_someone_else_is_refused_and_never_panics() {
        let good = [b"1 5 0 0 0\n3 4\n".as_slice(), &Note::default().to_bytes()].concat();
        assert_eq!(Note::of_record(&good), Ok(Note::default()));
        for bad in [
            "",
            "\n",
            "\n\n",
            "\n\n2 ",
            "\n\n1 5:a",
            "\n\n1 99999:a",
            "\n\n1 1:a1:x",
            "\n\n1 1:a1:51:q",
            "\n\n1 :",
        ] {
            assert!(Note::of_record(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
