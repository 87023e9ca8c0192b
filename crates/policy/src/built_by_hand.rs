//! Policies for tests, put together by hand: the parser is somebody else's.

use tollgate_core::{Burst, Limit, Rate};

use crate::{
    Action, AnswerSettings, ClientAddressSettings, Condition, Consistency, CostPlan, Group, HostPattern,
    KeySource, Missing, Mode, OnStoreFailure, PathEncoded, PathPattern, PathTest, Policy, Regex, Rule, Scope,
    Source, TableSettings, ValueTest,
};

/// A rule for every request, with one bucket for all.
pub(crate) fn rule(name: &str) -> Rule {
    let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
    Rule {
        name: name.into(),
        scope: Scope::Global,
        keys: Vec::new(),
        missing: Missing::Anonymous,
        condition: Condition::Always,
        action: Action::Limit(limit.into()),
        cost: CostPlan::ONE,
        mode: Mode::Enforce,
        rollout_percent: 100,
        trusts_upstream_claims: false,
        consistency: Consistency::Exact,
        on_store_failure: OnStoreFailure::Local,
        table: TableSettings::default(),
        group: None,
        refund_statuses: Vec::new(),
        settle_header: None,
        reason: None,
        message: None,
        source: Source::File,
        overrides: None,
        line: 1,
    }
}

/// A policy that enforces these rules, with the groups that they name.
pub(crate) fn policy(rules: Vec<Rule>) -> Policy {
    let groups = rules.iter().filter_map(|rule| rule.group).max().map_or(0, |last| last + 1);
    let members = |group| (0..rules.len()).filter(|at| rules[*at].group == Some(group)).collect();
    Policy {
        name: "default".into(),
        mode: Mode::Enforce,
        groups: (0..groups)
            .map(|group| Group {
                name: format!("group {group}").into(),
                rules: members(group),
                is_implicit: false,
            })
            .collect(),
        rules,
        kill_switches: Vec::new(),
        path_encoded: PathEncoded::Fold,
        answers: AnswerSettings::default(),
        client_address: ClientAddressSettings::default(),
        client_address_line: 1,
        jwt: None,
        store: None,
        store_line: 1,
    }
}

/// A lenient test of the path: `/a`, `/a/*`, `/a/{b}` or `/a/**/c*`.
pub(crate) fn path(text: &str) -> Condition {
    let pattern = match text.strip_suffix("/*") {
        Some(prefix) if !prefix.contains('*') => PathPattern::Prefix(prefix.into()),
        _ if text.contains('*') => glob(text),
        _ if text.contains('{') => {
            let segments = text.split('/').skip(1);
            PathPattern::Template(
                segments.map(|segment| (!segment.starts_with('{')).then(|| segment.into())).collect(),
            )
        }
        _ => PathPattern::Exact(text.into()),
    };
    Condition::Path(PathTest { pattern, is_case_sensitive: false, keeps_trailing_slash: false })
}

fn glob(text: &str) -> PathPattern {
    let regex = regex_syntax::escape(text).replace(r"/\*\*", "(/.*)?").replace(r"\*", "[^/]*");
    PathPattern::Glob {
        text: text.into(),
        regex: Regex::new(&format!("^{regex}$")).unwrap(),
        literal: text
            .split('/')
            .skip(1)
            .take_while(|segment| !segment.contains('*'))
            .map(Into::into)
            .collect(),
    }
}

/// A test of the host: `a.b` or `*.a.b`.
pub(crate) fn host(text: &str) -> Condition {
    Condition::Host(match text.strip_prefix('*') {
        Some(suffix) => HostPattern::Below(suffix.into()),
        None => HostPattern::Exact(text.into()),
    })
}

/// A test for one of these values.
pub(crate) fn is(source: KeySource, values: &[&str]) -> Condition {
    Condition::Value(source, ValueTest::OneOf(values.iter().map(|value| (*value).into()).collect()))
}

/// `header:<name>`.
pub(crate) fn header(name: &str) -> KeySource {
    KeySource::Header(name.into())
}

/// `jwt:<claim>`.
pub(crate) fn claim(path: &str) -> KeySource {
    KeySource::Claim(path.split('.').map(Into::into).collect())
}

/// Header fields.
pub(crate) fn header_fields(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
