//! One step of a case: when, what, how often, and what must come of it.

use tollgate_core::Span;

use super::{expected, request};
use crate::text::fields::Fields;
use crate::text::found::Found;
use crate::text::tree::Node;
use crate::text::{decimal, span};
use crate::{DescribedRequest, Policy, Step};

const FIELDS: [&str; 8] =
    ["at", "request", "times", "expect", "rules", "violated", "would_deny", "retry_after"];
const TIMES_MAX: u64 = 1_000_000;

/// A step; `before` is when the one before it was. Whatever is not said is as in the case.
pub(super) fn read(
    node: &Node<'_>,
    shared: &DescribedRequest,
    before: Span,
    policy: &Policy,
    found: &mut Found,
) -> Option<Step> {
    let cure = "write `{at: 0s, request: {path: /}, expect: admit}`";
    let mut fields = Fields::of(node, "a step", cure, found)?;
    let at = match fields.take("at") {
        None => Some(before),
        Some(node) => span::read(node, "at", "1.5s", found).filter(|at| {
            let is_in_order = *at >= before;
            if !is_in_order {
                let what = format!("this step is at {at}, before the one above it, which is at {before}");
                found.add(
                    node.place,
                    what,
                    "put the steps in the order of time; `at` counts from the case's beginning",
                );
            }
            is_in_order
        }),
    };
    let described = fields.take("request");
    let request = match described {
        Some(node) => request::read(node, shared, found),
        None => shared.clone(),
    };
    if let (Some(peer), Some((ip, client))) = (request.peer, request.seen_by(policy).contradiction()) {
        let what = format!(
            "`ip` {ip} and `peer` {peer} disagree: by the policy's `client_address`, who comes from that peer with these \
             headers is {client}"
        );
        found.add_to_whole(described.unwrap_or(node).head(), what, "drop one of them");
    }
    let times = match fields.take("times") {
        Some(node) => decimal::whole(node, "times", 1, TIMES_MAX, found),
        None => Some(1),
    };
    let times = times.and_then(|times| u32::try_from(times).ok());
    let expected = expected::read(&mut fields, times.unwrap_or(1), policy, found);
    fields.refuse_rest("a step", &FIELDS, found);
    Some(Step { line: node.head().line, at: at?, request, times: times?, expected })
}
