//! What can be said of requests without `match`: `plan`, `path`, `method` and `host` beside the other fields of a rule.

use crate::{Condition, KeySource};

use super::condition::{self, all_of};
use super::fields::Fields;
use super::found::Found;
use super::path::Strictness;
use super::{choice, path, value_test};

/// `match` and the short spellings together; all of them have to hold. `None`, with a mistake, if any of them is none.
pub(super) fn read(fields: &mut Fields<'_, '_>, found: &mut Found) -> Option<Condition> {
    let strictness = Strictness {
        is_case_sensitive: fields
            .take("case_sensitive")
            .is_some_and(|node| choice::truth(node, "case_sensitive", found) == Some(true)),
        keeps_trailing_slash: fields
            .take("strict_slash")
            .is_some_and(|node| choice::truth(node, "strict_slash", found) == Some(true)),
        tells_head_from_get: fields
            .take("strict_method")
            .is_some_and(|node| choice::truth(node, "strict_method", found) == Some(true)),
    };
    let tests = [
        fields.take("path").map(|node| path::read(node, strictness, found)),
        fields.take("method").map(|node| condition::method(node, strictness, found)),
        fields.take("host").map(|node| condition::host(node, found)),
        fields.take("plan").map(|node| value_test::read(&KeySource::Plan, node, found)),
        fields.take("match").map(|node| condition::read(node, strictness, found)),
    ];
    tests.into_iter().flatten().collect::<Option<Vec<_>>>().map(all_of)
}
