//! Which violations are wanted.

use super::identifiers::{Identifier, Identifiers};
use super::violation_row::{ENDPOINT_BYTES_MAX, USER_BYTES_MAX, bounded};
use crate::limits::NAME_BYTES_MAX;
use crate::session::Value;
use crate::{ADDRESS_BYTES_MAX, RecordsError, Timestamp, limits};

/// Which violations are wanted. Nothing said is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ViolationFilter {
    /// Of this user alone, by the name in the log; see [`ViolationLog::named`](super::ViolationLog::named).
    pub user: Option<String>,
    /// From this address alone, as the log writes it: `203.0.113.7`, `2001:db8::1`.
    pub address: Option<String>,
    /// By this rule alone.
    pub rule: Option<String>,
    /// Of these endpoints alone.
    pub endpoint: Option<EndpointFilter>,
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
}

/// Which endpoints are wanted. Both tell capitals from small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointFilter {
    /// This one.
    Exact(String),
    /// Those that begin like this.
    Prefix(String),
}

impl ViolationFilter {
    /// With users and addresses as they stand in a log: pseudonyms are there as they are. Where identifiers are off, nobody is found by a name.
    pub(super) fn named_by(self, identifiers: &Identifiers) -> ViolationFilter {
        let nobody = || "(off)".to_owned();
        let named = |identifier, text: String| {
            if Identifiers::is_pseudonym(&text) {
                return text;
            }
            identifiers.shown(identifier, text).unwrap_or_else(nobody)
        };
        ViolationFilter {
            user: self.user.map(|user| named(Identifier::User, bounded(&user, USER_BYTES_MAX))),
            address: self.address.map(|address| named(Identifier::Address, address)),
            ..self
        }
    }

    /// Conditions, joined by `AND`, and their values, numbered from 1. The text is ours alone.
    pub(super) fn conditions(&self) -> Result<(Vec<String>, Vec<Value<'_>>), RecordsError> {
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (field, column, text, bytes_max) in [
            ("user", "user_id", &self.user, USER_BYTES_MAX),
            ("address", "ip_address", &self.address, ADDRESS_BYTES_MAX),
            ("rule", "rule_id", &self.rule, NAME_BYTES_MAX),
        ] {
            if let Some(text) = text {
                limits::text(field, text, bytes_max)?;
                values.push(Value::from(text));
                conditions.push(format!("{column} = ${}", values.len()));
            }
        }
        if let Some(endpoint) = &self.endpoint {
            let (EndpointFilter::Exact(text) | EndpointFilter::Prefix(text)) = endpoint;
            limits::text("endpoint", text, ENDPOINT_BYTES_MAX)?;
            values.push(Value::from(text));
            let at = values.len();
            conditions.push(match endpoint {
                EndpointFilter::Exact(_) => format!("endpoint = ${at}"),
                // Not LIKE, to which some characters mean something, and to SQLite's all letters are small.
                EndpointFilter::Prefix(_) => format!("substr(endpoint, 1, length(${at})) = ${at}"),
            });
        }
        for (comparison, time) in [(">=", self.since), ("<", self.until)] {
            if let Some(time) = time {
                values.push(Value::from(time));
                conditions.push(format!("requested_at {comparison} ${}", values.len()));
            }
        }
        Ok((conditions, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_ever_part_of_the_text() {
        let nasty = "' OR 1=1; DROP TABLE rate_limit_violations; --".to_owned();
        let filter = ViolationFilter {
            user: Some(nasty.clone()),
            address: Some(nasty.clone()),
            rule: Some(nasty.clone()),
            endpoint: Some(EndpointFilter::Prefix(nasty)),
            since: Some(Timestamp::from_unix_seconds(1)),
            until: Some(Timestamp::from_unix_seconds(2)),
        };
        let (conditions, values) = filter.conditions().unwrap();
        let expected = "user_id = $1 AND ip_address = $2 AND rule_id = $3 AND substr(endpoint, 1, length($4)) = $4 AND \
            requested_at >= $5 AND requested_at < $6";
        assert_eq!(conditions.join(" AND "), expected);
        assert_eq!(values.len(), 6);
    }

    #[test]
    fn a_filter_that_can_find_nothing_is_refused() {
        let filter = ViolationFilter { user: Some("a\0".to_owned()), ..ViolationFilter::default() };
        assert_eq!(filter.conditions().unwrap_err().to_string(), "`user` holds a NUL; leave it out");
        let filter = ViolationFilter { rule: Some(String::new()), ..ViolationFilter::default() };
        assert_eq!(filter.conditions().unwrap_err().to_string(), "`rule` is empty; say what it is");
    }
}
