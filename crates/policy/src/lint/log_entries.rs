//! Exact sliding windows whose logs do not fit: every charge of the last window is an entry, for every client.

use tollgate_core::Algorithm;

use super::{Book, Lint, LintKind};
use crate::{Action, CLIENT_LOG_ENTRIES_MAX, TableRoom};

/// `log-entries`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let TableRoom { max_keys, log_entries_max } = book.room;
    for subject in book.rules() {
        let rule = subject.rule;
        let Action::Limit(Algorithm::SlidingLog(log)) = rule.action else { continue };
        let quota = log.quota().as_micros() / rule.cost.default.as_micros().max(1);
        let clients = if rule.keys.is_empty() { 1 } else { max_keys as u64 };
        let (needed, room) =
            (quota.saturating_mul(clients), book.policy.log_entries_max(rule, log_entries_max) as u64);
        let message = if needed > room {
            format!(
                "an exact sliding window stores every charge: {quota} × {clients} clients = {needed} entries, but the maximum \
                 is {room}; beyond it old charges are merged, and new clients may be denied"
            )
        } else if quota > CLIENT_LOG_ENTRIES_MAX as u64 {
            format!(
                "the quota is {quota}, but one client's log holds {CLIENT_LOG_ENTRIES_MAX} charges; beyond that charges are \
                 merged, and fewer requests are admitted"
            )
        } else {
            continue;
        };
        let cure = "write `variant: counter` (16 bytes per client for any quota), or raise `log_entries_max`";
        found.push(subject.lint(LintKind::LogEntries, message, cure));
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Burst, SlidingLog, Span};

    use super::*;
    use crate::lint::built_by_hand::{found, policy, rule};
    use crate::{KeySource, Rule, TableSettings};

    fn logged(quota: u64, keys: Vec<KeySource>) -> Rule {
        let log = SlidingLog::new(Burst::tokens(quota), Span::from_secs(86_400)).unwrap();
        Rule { action: Action::Limit(log.into()), keys, ..rule("x") }
    }

    #[test]
    fn quota_times_keys_above_the_room_is_told() {
        let by_user = |quota| logged(quota, vec![KeySource::User]);
        assert_eq!(found([by_user(10)]), []);
        assert_eq!(found([by_user(11)]), [(LintKind::LogEntries, "x".into())]);
        assert_eq!(
            policy([by_user(100)]).lints()[0].to_string(),
            "line 1: rule `x`: an exact sliding window stores every charge: 100 × 100000 clients = 10000000 entries, but the \
             maximum is 1000000; beyond it old charges are merged, and new clients may be denied; \
             write `variant: counter` (16 bytes per client for any quota), or raise `log_entries_max` \
             [log-entries]"
        );
    }

    #[test]
    fn known_size_of_the_table_counts() {
        let lints = |room| policy([logged(100, vec![KeySource::User])]).lints_for(room).len();
        let kinds = |max_keys| lints(TableRoom::for_keys(max_keys));
        assert_eq!((kinds(100), kinds(1_000), kinds(10_000_000)), (0, 1, 1));
        assert_eq!(lints(TableRoom { max_keys: 1_000, log_entries_max: 100_000 }), 0);
    }

    #[test]
    fn own_bound_and_one_bucket_for_all_are_considered() {
        let table = TableSettings { log_entries_max: Some(50_000_000), ..TableSettings::default() };
        assert_eq!(found([Rule { table, ..logged(100, vec![KeySource::User]) }]), []);
        assert_eq!(found([logged(4_096, Vec::new())]), []);
        assert_eq!(found([logged(4_097, Vec::new())]), [(LintKind::LogEntries, "x".into())]);
    }
}
