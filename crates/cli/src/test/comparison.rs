//! What was expected of a step beside what came.

use tollgate::Span;
use tollgate::policy::{Expected, ExpectedWait, span_text};

/// What came of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Came {
    pub(super) requests: u32,
    pub(super) admitted: u32,
    /// Of the last request: the enforced rules that it asked.
    pub(super) rules: Vec<String>,
    /// Of the last request: who did not admit it.
    pub(super) violated: Vec<String>,
    /// Of the last request: the rules that only watch and would have denied it.
    pub(super) would_deny: Vec<String>,
    /// Of the last request.
    pub(super) retry_after: Option<Span>,
}

/// One thing that came out differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) what: &'static str,
    pub(super) expected: Told,
    pub(super) came: Told,
}

/// One side of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    Text(String),
    Wait(Span),
}

impl Told {
    /// As a file of cases would have it.
    pub(super) fn exact(&self) -> String {
        match self {
            Told::Text(text) => text.clone(),
            Told::Wait(wait) => wait.to_string(),
        }
    }

    /// The same, and a long wait in the units of a clock beside it.
    pub(super) fn for_people(&self) -> String {
        match self {
            Told::Wait(wait) if *wait >= Span::from_secs(60) => format!("{wait} ({})", span_text(*wait)),
            _ => self.exact(),
        }
    }
}

/// All that came out differently; nothing if the step went as expected.
pub(super) fn differences(expected: &Expected, came: &Came) -> Vec<Difference> {
    let admitted =
        expected.admitted.filter(|admitted| *admitted != came.admitted).map(|admitted| Difference {
            what: "admitted",
            expected: Told::Text(format!("{admitted} of {}", came.requests)),
            came: Told::Text(format!("{} of {}", came.admitted, came.requests)),
        });
    let retry_after = expected.retry_after.filter(|wait| !is_met(*wait, came)).map(|wait| Difference {
        what: "retry_after",
        expected: Told::Wait(wait.wait),
        came: came.retry_after.map_or_else(|| Told::Text("none".to_owned()), Told::Wait),
    });
    let rules = names("rules", expected.rules.as_deref(), &came.rules);
    let violated = names("violated", expected.violated.as_deref(), &came.violated);
    let would_deny = names("would_deny", expected.would_deny.as_deref(), &came.would_deny);
    [admitted, rules, violated, would_deny, retry_after].into_iter().flatten().collect()
}

fn is_met(wait: ExpectedWait, came: &Came) -> bool {
    came.retry_after.is_some_and(|exact| wait.is_met_by(exact))
}

/// The same names in another order are no difference.
fn names(what: &'static str, expected: Option<&[Box<str>]>, came: &[String]) -> Option<Difference> {
    let mut expected: Vec<&str> = expected?.iter().map(AsRef::as_ref).collect();
    let mut came: Vec<&str> = came.iter().map(String::as_str).collect();
    expected.sort_unstable();
    came.sort_unstable();
    let listed =
        |names: &[&str]| Told::Text(if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    (expected != came).then(|| Difference { what, expected: listed(&expected), came: listed(&came) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came() -> Came {
        Came {
            requests: 11,
            admitted: 10,
            rules: vec!["user".to_owned(), "global".to_owned()],
            violated: vec!["user".to_owned()],
            would_deny: vec!["trial".to_owned()],
            retry_after: Some(Span::from_millis(100)),
        }
    }

    #[test]
    fn what_is_not_expected_is_not_compared_and_order_does_not_matter() {
        assert_eq!(differences(&Expected::default(), &came()), []);
        let rules = Some(vec!["global".into(), "user".into()]);
        assert_eq!(differences(&Expected { rules, ..Expected::default() }, &came()), []);
    }

    #[test]
    fn every_difference_is_told_in_one_go() {
        let expected = Expected {
            admitted: Some(11),
            rules: Some(vec!["user".into()]),
            violated: Some(Vec::new()),
            would_deny: Some(Vec::new()),
            retry_after: Some(ExpectedWait { wait: Span::from_secs(2), precision: Span::from_secs(1) }),
        };
        let told: Vec<String> = differences(&expected, &came())
            .iter()
            .map(|difference| {
                let Difference { what, expected, came } = difference;
                format!("{what} {} / {}", expected.exact(), came.exact())
            })
            .collect();
        let all = [
            "admitted 11 of 11 / 10 of 11",
            "rules user / global, user",
            "violated none / user",
            "would_deny none / trial",
            "retry_after 2s / 100ms",
        ];
        assert_eq!(told, all);
    }
}
