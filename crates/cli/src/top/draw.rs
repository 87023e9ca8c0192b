//! A sight, drawn: on a live terminal, or as plain lines.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};
use serde_json::Value;

use super::sight::{RuleSeen, Sight};
use crate::keys::{By, Talker};
use crate::listing::Listing;
use crate::screen::Ink;
use crate::visible::visible;

/// What stands around the figures.
pub(super) struct Frameable<'s> {
    pub(super) sight: &'s Sight,
    pub(super) place: &'s str,
    pub(super) by: By,
    /// Why the figures are old.
    pub(super) fault: Option<&'s str>,
    pub(super) has_colour: bool,
}

/// As plain lines.
pub(super) fn plain(sight: &Sight, place: &str, by: By, ink: Ink) -> String {
    let mut rules =
        Listing::new(&["RULE", "LIMIT", "MODE", "ADMITTED/S#", "DENIED/S#", "ADMITTED#", "DENIED#"]);
    for rule in &sight.rules {
        rules.push(rule_cells(rule).iter().map(String::as_str));
    }
    let mut clients = Listing::new(&["RULE", "CLIENT", "ADMITTED#", "DENIED#", "NEAR#"]);
    for talker in &sight.talkers {
        clients.push(talker_cells(talker).iter().map(String::as_str));
    }
    let clients = if clients.is_empty() { by.nobody().to_owned() } else { clients.text(ink) };
    let over = sight.talkers_over.as_ref();
    let over = over.map_or_else(String::new, |over| format!("{}\n", ink.faint(&format!("clients {over}"))));
    format!("{}\n\n{}\n{clients}{over}", ink.heading(&heading(sight, place)), rules.text(ink))
}

/// On a live terminal.
pub(super) fn live(frame: &mut Frame<'_>, shown: &Frameable<'_>) {
    let of = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(3);
    let rules = of(shown.sight.rules.len()).min(frame.area().height / 2);
    let [head, rules, clients, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(rules.max(4)),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let title = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![Line::styled(heading(shown.sight, shown.place), title)];
    if let Some(fault) = shown.fault {
        lines.push(Line::styled(visible(fault).into_owned(), coloured(shown, Color::Red)));
    }
    frame.render_widget(Paragraph::new(lines), head);
    draw_rules(frame, rules, shown);
    draw_clients(frame, clients, shown);
    let keys = Span::styled(
        " q quit   d denied   a admitted   n near the limit",
        Style::new().add_modifier(Modifier::DIM),
    );
    frame.render_widget(Paragraph::new(Line::from(keys)), foot);
}

fn draw_rules(frame: &mut Frame<'_>, area: Rect, shown: &Frameable<'_>) {
    let rows = shown.sight.rules.iter().map(|rule| {
        let denies = rule.rates.is_some_and(|rates| rates.denied > 0);
        let style = if denies { coloured(shown, Color::Red) } else { Style::new() };
        Row::new(rule_cells(rule).map(|cell| Cell::from(visible(&cell).into_owned()))).style(style)
    });
    let widths = [
        Constraint::Fill(2),
        Constraint::Fill(3),
        Constraint::Length(8),
        Constraint::Length(11),
        Constraint::Length(11),
        Constraint::Length(12),
        Constraint::Length(12),
    ];
    let header = Row::new(["rule", "limit", "mode", "admitted/s", "denied/s", "admitted", "denied"]);
    let header = header.style(Style::new().add_modifier(Modifier::DIM));
    frame.render_widget(
        Table::new(rows, widths).header(header).block(Block::bordered().title(" rules ")),
        area,
    );
}

fn draw_clients(frame: &mut Frame<'_>, area: Rect, shown: &Frameable<'_>) {
    let rows = shown
        .sight
        .talkers
        .iter()
        .map(|talker| Row::new(talker_cells(talker).map(|cell| Cell::from(visible(&cell).into_owned()))));
    let widths = [
        Constraint::Fill(2),
        Constraint::Fill(4),
        Constraint::Length(12),
        Constraint::Length(12),
        Constraint::Length(12),
    ];
    let header = Row::new(["rule", "client", "admitted", "denied", "near"]);
    let header = header.style(Style::new().add_modifier(Modifier::DIM));
    let over = shown.sight.talkers_over.as_ref().map_or_else(String::new, |over| format!(", {over}"));
    let title = format!(" clients of the last minute, by {}{over} ", shown.by.name());
    frame.render_widget(Table::new(rows, widths).header(header).block(Block::bordered().title(title)), area);
}

fn coloured(shown: &Frameable<'_>, colour: Color) -> Style {
    if shown.has_colour { Style::new().fg(colour) } else { Style::new().add_modifier(Modifier::BOLD) }
}

/// Where it is and how it is.
fn heading(sight: &Sight, place: &str) -> String {
    let status = &sight.status;
    let policy = &status.policy;
    let outdated = if policy.outdated { ", a later one was refused" } else { "" };
    let records = match &status.records {
        Value::Null => String::new(),
        records => format!(", records {}", standing(records)),
    };
    let orders = match policy.orders {
        0 => String::new(),
        1 => ", 1 order stands".to_owned(),
        orders => format!(", {orders} orders stand"),
    };
    format!(
        "tollgate {} at {}: policy {} (version {}{outdated}){orders}, store {}{records}, {} keys",
        visible(&status.version),
        visible(place),
        visible(&policy.name),
        policy.version,
        standing(&status.store),
        status.keys,
    )
}

/// How something is, in the server's words.
fn standing(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let word = ["status", "standing", "state"].iter().find_map(|name| fields.get(*name)?.as_str());
            word.map_or_else(|| value.to_string(), str::to_owned)
        }
        other => other.to_string(),
    };
    visible(&text).into_owned()
}

fn rule_cells(rule: &RuleSeen) -> [String; 7] {
    let rate = |thousandths: u64| format!("{}.{}", thousandths / 1_000, thousandths % 1_000 / 100);
    let (admitted, denied) =
        rule.rates.map_or_else(Default::default, |rates| (rate(rates.admitted), rate(rates.denied)));
    [
        rule.name.clone(),
        rule.does.clone(),
        rule.mode.clone(),
        admitted,
        denied,
        rule.counts.admitted.to_string(),
        rule.counts.denied.to_string(),
    ]
}

fn talker_cells(talker: &Talker) -> [String; 5] {
    let [admitted, denied, near] = talker.figures();
    [talker.rule.clone(), talker.key.clone(), admitted, denied, near]
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;
    use tollgate_records::Timestamp;

    use super::*;

    fn sight() -> Sight {
        let status = json!({ "version": "0.1.0", "policy": { "name": "p", "version": 3 }, "store": "memory", "keys": 12 });
        let rules = |admitted: u64| {
            json!({ "rules": [{ "name": "api\u{1b}[2J", "limit": "5 per second", "mode": "enforce",
                "counts": { "admitted": admitted, "denied": 2 } }] })
        };
        let times = |count: u64| json!({ "at_least": count, "at_most": count });
        let talkers = json!({ "rules": [{ "rule": "api", "clients": [
            { "client": "x", "key": "user:\u{9b}2J", "admitted": times(7), "denied": times(2), "near": times(0) }
        ] }], "instances": 3 });
        let seconds = Timestamp::from_unix_seconds;
        let before = Sight::made_of(seconds(100), &status, &rules(10), &talkers);
        Sight::made_of(seconds(102), &status, &rules(15), &talkers).since(&before)
    }

    #[test]
    fn plain_lines_say_how_the_server_is_and_steer_nothing() {
        let expected = "\
tollgate 0.1.0 at http://h:1: policy p (version 3), store memory, 12 keys

RULE          LIMIT         MODE     ADMITTED/S  DENIED/S  ADMITTED  DENIED
api\\x1b[2J  5 per second  enforce         2.5       0.0        15       2

RULE  CLIENT         ADMITTED  DENIED  NEAR
api   user:\\u{9b}2J         7       2     0
clients over 3 instances
";
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&plain(&sight(), "http://h:1", By::Denied, Ink::Plain)), squeezed(expected));
    }

    #[test]
    fn the_live_view_shows_rules_clients_and_what_is_wrong() {
        let sight = sight();
        let shown = Frameable {
            sight: &sight,
            place: "http://h:1",
            by: By::Denied,
            fault: Some("no answer\u{1b}[2J"),
            has_colour: true,
        };
        let mut terminal = Terminal::new(TestBackend::new(100, 20)).unwrap();
        terminal.draw(|frame| live(frame, &shown)).unwrap();
        let screen: String =
            terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol).collect();
        for text in [
            "store memory",
            "no answer\\x1b[2J",
            "api\\x1b[2J",
            "2.5",
            "user:\\u{9b}2J",
            "by denied, over 3 instances",
            "q quit",
        ] {
            assert!(screen.contains(text), "{text}: {screen}");
        }
        assert!(!screen.contains(char::is_control), "{screen:?}");
    }

    #[test]
    fn a_tiny_terminal_is_no_reason_to_fall_over() {
        let sight = sight();
        for (columns, rows) in [(1, 1), (10, 3), (40, 6)] {
            let shown = Frameable { sight: &sight, place: "h", by: By::Near, fault: None, has_colour: false };
            let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
            terminal.draw(|frame| live(frame, &shown)).unwrap();
        }
    }
}
