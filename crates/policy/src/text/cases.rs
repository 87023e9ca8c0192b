//! The cases of a policy, as they are typed: a list of `{name, request, steps}`. Mistakes are told as those of policies are.

mod claims;
mod expected;
mod request;
mod step;

use tollgate_core::Span;

use super::choice;
use super::events;
use super::fields::Fields;
use super::found::Found;
use super::mistakes::Mistakes;
use super::tree::{Kind, Node, Place};
use crate::{Case, DescribedRequest, Expected, Policy, Step};

/// Most cases in one file.
const CASES_MAX: usize = 10_000;
/// Most steps in one case.
const STEPS_MAX: usize = 1_000;
/// Longest name, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 200;

const FIELDS: [&str; 3] = ["name", "request", "steps"];
const NO_CASE: &str = "there is no case in the file";
const EXAMPLE: &str = "write a list of cases: `- {name: a burst of 10, steps: [{request: {ip: 192.0.2.7}, times: 11, expect: {admitted: 10}}]}`";

impl Case {
    /// Reads a file of cases for `policy`, in YAML or JSON. `name_of_file` is for the messages alone.
    ///
    /// Refused whole, with every mistake listed; a rule that the policy does not have is one.
    pub fn parse_all(name_of_file: &str, text: &str, policy: &Policy) -> Result<Vec<Case>, Mistakes> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut found = Found::default();
        if text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#')) {
            found.add(Place { start: 0, end: 0, line: 1 }, NO_CASE, EXAMPLE);
            return Err(Mistakes::new(name_of_file, text, None, found));
        }
        let tree = events::read(text, &mut found);
        let cases = tree.as_ref().map(|root| read(root, policy, &mut found));
        match cases {
            Some(cases) if found.is_empty() => Ok(cases),
            _ => Err(Mistakes::new(name_of_file, text, tree.as_ref(), found)),
        }
    }
}

fn read(root: &Node<'_>, policy: &Policy, found: &mut Found) -> Vec<Case> {
    let Kind::List(items) = &root.kind else {
        found.add(root.head(), format!("the file is {}, not a list of cases", root.described()), EXAMPLE);
        return Vec::new();
    };
    if items.is_empty() {
        found.add(root.place, NO_CASE, EXAMPLE);
    }
    if let Some(beyond) = items.get(CASES_MAX) {
        let what = format!("there are {} cases, the most is {CASES_MAX}", items.len());
        found.add(beyond.head(), what, "split the file");
    }
    items.iter().take(CASES_MAX).filter_map(|item| case(item, policy, found)).collect()
}

fn case(node: &Node<'_>, policy: &Policy, found: &mut Found) -> Option<Case> {
    let mut fields = Fields::of(node, "a case", EXAMPLE, found)?;
    let name = fields.need("name", "the case", "say what it shows: `name: a burst of 10`", found);
    let name = name.and_then(|node| choice::text(node, "name", NAME_BYTES_MAX, found));
    let shared = match fields.take("request") {
        Some(node) => request::read(node, &DescribedRequest::default(), found),
        None => DescribedRequest::default(),
    };
    let cure = "add a list of steps: `steps: [{request: {path: /}, expect: admit}]`";
    let steps = fields.need("steps", "the case", cure, found);
    fields.refuse_rest("a case", &FIELDS, found);
    let Kind::List(items) = &steps?.kind else {
        found.unfit(steps?, "steps", "a list", cure);
        return None;
    };
    if items.is_empty() {
        found.add(steps?.place, "`steps` is an empty list", cure);
    }
    if let Some(beyond) = items.get(STEPS_MAX) {
        let what = format!("the case has {} steps, the most is {STEPS_MAX}", items.len());
        found.add(beyond.head(), what, "split the case, or use `times`");
    }
    let mut now = Span::ZERO;
    let steps = items.iter().take(STEPS_MAX).filter_map(|item| {
        let step = step::read(item, &shared, now, policy, found)?;
        now = step.at;
        Some(step)
    });
    let steps: Vec<Step> = steps.collect();
    // Where a step is broken, what it expects is not known.
    if found.is_empty() && !steps.is_empty() && steps.iter().all(|step| step.expected == Expected::default())
    {
        let cure = "say what must come of a step: `expect: admit`";
        found.add(node.head(), "the case expects nothing, so it cannot fail", cure);
    }
    Some(Case { steps, name: name?.into(), line: node.head().line })
}

#[cfg(test)]
mod tests;
