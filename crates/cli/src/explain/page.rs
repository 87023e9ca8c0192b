//! The account of a request, for people.

use std::fmt::Write;

use tollgate::policy::RuleExplanation;

use super::account::{Account, Fate, RuleAccount};
use crate::prose;
use crate::screen::{Ink, Screen};
use crate::visible::visible;

/// The whole page.
pub(super) fn draw(account: &Account<'_>, file: &str, screen: &Screen) -> String {
    let ink = screen.ink;
    let mut text = format!("{}\n", ink.heading(&visible(&request_line(account))));
    for said in account.notes() {
        for line in prose::broken(&visible(&said), screen.columns).lines() {
            let _ = writeln!(text, "{}", ink.faint(line));
        }
    }
    let _ = writeln!(text, "\n{}", ink.heading(&format!("Rules of {file}")));
    text += &switches(account, screen);
    text += &rules(account, screen);
    let word = if account.is_admitted { ink.admitted("admitted") } else { ink.denied("denied") };
    let _ = writeln!(text, "\n{}\n  {word}: {}", ink.heading("Verdict"), visible(&account.verdict));
    text += &answer(account, ink);
    text
}

/// `POST /api/search from 192.0.2.7, user ann, plan free, the 11th at once`.
fn request_line(account: &Account<'_>) -> String {
    let request = account.request;
    let facts = account.seen.facts();
    let mut line = format!("{} {}", request.method, request.target);
    if !request.host.is_empty() {
        let _ = write!(line, " at {}", request.host);
    }
    if let Some(address) = facts.address {
        let _ = write!(line, " from {}", address.to_canonical());
    }
    for (what, value) in [("user", facts.user), ("plan", facts.plan)] {
        if let Some(value) = value {
            let _ = write!(line, ", {what} {value}");
        }
    }
    match account.after {
        0 => line,
        1 => line + ", after another one like it",
        after => format!("{line}, after {after} like it"),
    }
}

fn switches(account: &Account<'_>, screen: &Screen) -> String {
    let switches = &account.policy.kill_switches;
    let named = |name: &str| format!("kill switch {name}");
    let width = switches
        .iter()
        .map(|switch| named(&switch.name).chars().count())
        .max()
        .unwrap_or(0)
        .min(NAME_COLUMNS_MAX);
    let mut text = String::new();
    for explained in &account.explanation.kill_switches {
        let Some(switch) = switches.get(explained.switch) else { continue };
        let mark = if explained.applies { screen.ink.denied("✗") } else { screen.ink.faint("·") };
        text += &entry(&mark, &named(&switch.name), &explained.reason, width, screen);
    }
    text
}

/// Longer names have a line of their own.
const NAME_COLUMNS_MAX: usize = 32;
/// So many rules that do not apply are shown; of the others the number is said.
const ABSENT_MAX: usize = 50;

fn rules(account: &Account<'_>, screen: &Screen) -> String {
    let ink = screen.ink;
    let width =
        account.rules.iter().map(|rule| rule.name.chars().count()).max().unwrap_or(0).min(NAME_COLUMNS_MAX);
    let (mut text, mut absent) = (String::new(), 0);
    for (rule, explained) in account.rules.iter().zip(&account.explanation.rules) {
        absent += usize::from(rule.fate == Fate::Absent);
        if rule.fate == Fate::Absent && absent > ABSENT_MAX {
            continue;
        }
        let mark = match rule.fate {
            Fate::Admits => ink.admitted("✓"),
            Fate::Denies => ink.denied("✗"),
            Fate::Watches { .. } => ink.balance("~"),
            Fate::Absent => ink.faint("·"),
        };
        let mut said = explained.reason.clone();
        if rule.fate == (Fate::Watches { would_deny: true }) {
            said += "; enforced, it would have denied";
        }
        let terms = terms(rule, explained);
        text += &match (rule.fate, terms.is_empty()) {
            (Fate::Absent, _) | (_, true) => entry(&mark, &rule.name, &said, width, screen),
            _ => entry(&mark, &rule.name, &format!("{terms}\n{said}"), width, screen),
        };
    }
    if absent > ABSENT_MAX {
        let more = format!("… and {} more that do not apply; --json lists them all", absent - ABSENT_MAX);
        let _ = writeln!(text, "  {}", ink.faint(&more));
    }
    text
}

/// Holds the words of a term together when lines are broken.
const BOND: &str = "\u{1}";

/// `10/s, burst 50 · user=ann · cost 1 · 50 → 49 tokens`, to be broken between the terms.
fn terms(rule: &RuleAccount, explained: &RuleExplanation) -> String {
    let mut terms = vec![rule.limit.clone()];
    // Only who limits has a bucket.
    if explained.cost.is_none() {
        return terms.concat();
    }
    let keys = explained.key_parts.iter().map(|part| match (&part.value, &part.ambiguity) {
        (Some(value), _) => format!("{}={value}", part.source),
        (None, Some(_)) => format!("{} ambiguous", part.source),
        (None, None) => format!("{} missing", part.source),
    });
    match keys.collect::<Vec<_>>().join(", ") {
        keys if keys.is_empty() => terms.push("one bucket for all".to_owned()),
        keys => terms.push(keys),
    }
    if let Some(cost) = &explained.cost {
        terms.push(match cost.reason.as_str() {
            "a fixed cost" => format!("cost {}", cost.cost),
            reason => format!("cost {} ({reason})", cost.cost),
        });
    }
    match rule.tokens {
        Some((before, after)) if before == after => terms.push(format!("holds {after}")),
        Some((before, after)) => terms.push(format!("{before} → {after} tokens")),
        None => {}
    }
    let terms: Vec<String> = terms.iter().map(|term| term.replace(char::is_whitespace, BOND)).collect();
    terms.join(&format!("{BOND}· "))
}

/// A mark, a name, and text beside it, broken to fit; each line of `said` begins a line.
fn entry(mark: &str, name: &str, said: &str, width: usize, screen: &Screen) -> String {
    let indent = width + 6;
    let columns = screen.columns.saturating_sub(indent);
    let lines: String = said.lines().map(|line| prose::broken(line, columns)).collect();
    // What is neither a bond nor the end of a line is no part of a sentence.
    let lines = lines.replace(BOND, " ");
    let lines = lines.lines().map(visible).collect::<Vec<_>>();
    let mut text = String::new();
    let idle = width.saturating_sub(name.chars().count());
    let mut first = format!("  {mark} {}{:idle$}  ", screen.ink.heading(name), "");
    if name.chars().count() > width {
        let _ = writeln!(text, "{}", first.trim_end());
        first = " ".repeat(indent);
    }
    for line in lines {
        let _ = writeln!(text, "{first}{line}");
        first = " ".repeat(indent);
    }
    text
}

fn answer(account: &Account<'_>, ink: Ink) -> String {
    let answer = &account.answer;
    let status = match answer.status {
        200 => "200, or whatever the service answers".to_owned(),
        400 => "400 Bad Request".to_owned(),
        403 => "403 Forbidden".to_owned(),
        429 => "429 Too Many Requests".to_owned(),
        503 => "503 Service Unavailable".to_owned(),
        other => other.to_string(),
    };
    let mut text = format!("\n{}\n  {status}\n", ink.heading("Answer"));
    for (name, value) in &answer.headers {
        let _ = writeln!(text, "  {}: {value}", ink.balance(name));
    }
    let jitter = account.policy.answers.jitter_percent;
    if answer.headers.iter().any(|(name, _)| &**name == "Retry-After") && jitter > 0 {
        let said =
            format!("(jitter adds up to {jitter} % to Retry-After and t, the same for a client each time)");
        let _ = writeln!(text, "  {}", ink.faint(&said));
    }
    text
}
