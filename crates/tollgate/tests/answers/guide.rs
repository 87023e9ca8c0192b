//! docs/answers.md shows answers as they are: every example is rendered anew and compared.

use tollgate::policy::{AnswerSettings, BodyProfile};
use tollgate::{Answering, Cause, Outcome, Refusal, RefusalKind, Span, Standing, Tokens, Violation};

use crate::told::{NOW, bucket, profiles, standing, violation};

const GUIDE: &str = include_str!("../../../../docs/answers.md");

/// The blocks of the guide in the order in which they stand.
fn blocks() -> Vec<&'static str> {
    GUIDE.split("```http\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The answer as it goes over the wire, with a line for each member of the body.
fn wire(settings: &AnswerSettings, outcome: Outcome<'_>) -> String {
    let answer = Answering::new(settings, outcome, b"ann", NOW).render();
    let phrase = match answer.status {
        200 => "OK",
        429 => "Too Many Requests",
        _ => "Service Unavailable",
    };
    let mut lines = vec![format!("HTTP/1.1 {} {phrase}", answer.status)];
    lines.extend(answer.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    if let Some((media_type, body)) = answer.body {
        lines.extend([format!("Content-Type: {media_type}"), String::new(), by_members(&body)]);
    }
    lines.join("\n") + "\n"
}

/// A line for each member of the outer object.
fn by_members(json: &str) -> String {
    let (mut depth, mut in_text, mut lines) = (0, false, String::new());
    for c in json.chars() {
        match c {
            '"' => in_text = !in_text,
            '{' | '[' if !in_text => depth += 1,
            '}' | ']' if !in_text => depth -= 1,
            _ => {}
        }
        match (c, depth) {
            ('{', 1) => lines.push_str("{\n  "),
            (',', 1) if !in_text => lines.push_str(",\n  "),
            ('}', 0) => lines.push_str("\n}"),
            _ => lines.push(c),
        }
    }
    lines
}

#[test]
fn every_example_of_the_guide_is_what_is_rendered() {
    let (user, global) = (bucket(10, 50), bucket(1_000, 2_000));
    let admitted = || Outcome::Admitted { tightest: Some(standing("user", user, 42_500_000)) };
    let violated = [violation("user", user, 0, 2_400)];
    let of_all = Standing::new("global", "global", global, Tokens::from_micros(3_000_000), NOW);
    let both = [violation("user", user, 0, 100), Violation::new(of_all, Span::from_secs(4))];
    let defaults = AnswerSettings::default();
    let simple = AnswerSettings { body: BodyProfile::Simple, ..AnswerSettings::default() };
    let denied = |violated| -> Outcome<'_> {
        let waits = <[Violation<'_>]>::iter(violated).map(|violation| violation.wait);
        Outcome::Denied { wait: waits.max().unwrap(), cause: Cause::Exceeded, violated }
    };
    let switch = Refusal {
        kind: RefusalKind::KillSwitch,
        by: "exports",
        reason: None,
        message: Some("Exports rest until the disk is replaced."),
        expires_in_s: Some(600),
    };
    let mut examples = vec![
        wire(&profiles(true, false, false), admitted()),
        wire(&profiles(false, true, false), admitted()),
        wire(&profiles(false, false, true), admitted()),
        wire(&defaults, denied(&violated)),
        wire(&defaults, denied(&both)),
        wire(&defaults, Outcome::Never { violated: &violated }),
        wire(&simple, denied(&violated)),
        wire(&defaults, Outcome::Refused(switch)),
        wire(&defaults, Outcome::Unavailable { wait: Span::from_secs(1) }),
    ];
    let call = Answering::new(&defaults, denied(&violated), b"ann", NOW).grpc().unwrap();
    let mut fields = String::new();
    call.each_header(|name, value| fields.extend([name, ": ", value, "\n"]));
    examples.push(fields);
    let blocks = blocks();
    for (index, example) in examples.iter().enumerate() {
        let block = blocks.get(index).copied().unwrap_or_default();
        assert_eq!(block, example, "example {index} of docs/answers.md should read:\n{example}");
    }
    assert_eq!(blocks.len(), examples.len(), "every block is held by this test");
}

#[test]
fn the_guide_lists_every_reason() {
    let reasons = [
        "token_bucket_exceeded",
        "leaky_bucket_full",
        "fixed_window_exceeded",
        "sliding_window_exceeded",
        "concurrency_exceeded",
        "cost_exceeds_burst",
        "table_full",
        "blocked",
        "key_missing",
        "kill_switch",
        "too_many_rules",
        "store_unavailable",
    ];
    for reason in reasons {
        assert!(GUIDE.contains(&format!("| `{reason}` |")), "{reason}");
    }
}
