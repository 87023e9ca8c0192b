//! How denials are put on record: for how long, how many, and by what names.

use std::time::Duration;

use tollgate_records::{IdentifierSecret, Identifiers, ViolationSettings};

use super::typed::count;
use super::{Resolved, SettingsError};

/// Longest that denials are kept, in days.
const KEEP_DAYS_MAX: u64 = 3_650;
/// Most denials that are kept.
const ROWS_MAX: usize = 1_000_000_000;
/// Shortest secret of pseudonyms, in bytes: a shorter one can be guessed, and then so can everybody's name.
const SECRET_BYTES_MIN: usize = 16;

/// The names that clients have on record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Plain,
    Hashed,
    Off,
}

impl Resolved {
    /// How denials are put on record.
    pub(super) fn violations(&self) -> Result<ViolationSettings, SettingsError> {
        let mut settings = ViolationSettings::default();
        settings.keep_for = self.read("violations_keep", keep)?;
        settings.rows_kept_max = self.read("violations_max_rows", |text| count(text, ROWS_MAX))? as u64;
        let names = self.read("identifiers", |text| match text {
            "plain" => Ok(Names::Plain),
            "hashed" => Ok(Names::Hashed),
            "off" => Ok(Names::Off),
            _ => Err("use plain, hashed or off".to_owned()),
        })?;
        settings.identifiers = match names {
            Names::Plain => Identifiers::Plain,
            Names::Off => Identifiers::Off,
            Names::Hashed => {
                let secret = self.text("identifiers_secret").unwrap_or_default();
                // Told of the setting that needs it, whoever said that.
                self.read("identifiers", |_| {
                    if secret.len() >= SECRET_BYTES_MIN {
                        return Ok(Identifiers::Hashed(IdentifierSecret::new(secret.as_bytes())));
                    }
                    Err(format!(
                        "pseudonyms need a secret of {SECRET_BYTES_MIN} bytes or more, the same on all instances; \
                         write one into a file and name it with --identifiers-secret-file"
                    ))
                })?
            }
        };
        Ok(settings)
    }
}

/// A time such as `12h` or `30d`.
fn keep(text: &str) -> Result<Duration, String> {
    let read = || {
        let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let number: u64 = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
        let hours = match unit {
            "h" => number,
            "d" => number.checked_mul(24)?,
            _ => return None,
        };
        (1..=KEEP_DAYS_MAX * 24).contains(&hours).then(|| Duration::from_hours(hours))
    };
    read().ok_or_else(|| format!("use hours or days, as in 12h or 30d; at most {KEEP_DAYS_MAX}d"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::settings::resolve;

    fn settings(flags: &[(&str, &str)]) -> Result<ViolationSettings, String> {
        let flags: Vec<(&str, String)> =
            flags.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let resolved = resolve(&flags, &BTreeMap::new()).map_err(|error| error.to_string())?;
        resolved.violations().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_usual_is_thirty_days_and_a_million_rows_by_plain_names() {
        let usual = settings(&[]).unwrap();
        assert_eq!((usual.keep_for, usual.rows_kept_max), (Duration::from_hours(720), 1_000_000));
        assert!(matches!(usual.identifiers, Identifiers::Plain));
    }

    #[test]
    fn pseudonyms_need_a_secret() {
        let refused = settings(&[("identifiers", "hashed")]).unwrap_err();
        assert!(refused.starts_with("--identifiers is 'hashed': pseudonyms need a secret"), "{refused}");
        let flags = [("identifiers", "hashed"), ("identifiers_secret", "0123456789abcdef")];
        assert!(matches!(settings(&flags).unwrap().identifiers, Identifiers::Hashed(_)));
        assert!(matches!(settings(&[("identifiers", "off")]).unwrap().identifiers, Identifiers::Off));
    }

    #[test]
    fn times_are_hours_or_days() {
        assert_eq!(keep("12h"), Ok(Duration::from_hours(12)));
        for text in ["", "d", "0d", "-1d", "1.5d", "30", "30m", "3651d", "99999999999999999999d", "5é"] {
            assert!(keep(text).is_err(), "{text}");
        }
    }
}
