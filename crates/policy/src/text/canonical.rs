//! A tree as text again, in one form: block YAML, fields in the order in which they were typed, comments gone.
//!
//! Promises that what is read from it is what was read before, and that writing that again changes nothing.

use std::fmt::Write as _;

use super::tree::{Kind, Node};

/// The text of a tree.
pub(super) fn write(root: &Node<'_>) -> String {
    let mut text = String::new();
    block(root, 0, &mut text);
    text
}

/// A value that begins on a line of its own, so many levels deep.
fn block(node: &Node<'_>, depth: usize, text: &mut String) {
    match &node.kind {
        Kind::Map(entries) if !entries.is_empty() => {
            for (at, (key, value)) in entries.iter().enumerate() {
                if at > 0 {
                    indent(depth, text);
                }
                scalar(&key.text, is_plain(&key.text), text);
                text.push(':');
                below(value, depth, text);
            }
        }
        Kind::List(items) if !is_flat(node) => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    indent(depth, text);
                }
                text.push_str("- ");
                block(item, depth + 1, text);
            }
        }
        _ => {
            flow(node, text);
            text.push('\n');
        }
    }
}

/// The value of a field: on its line, or on those below.
fn below(node: &Node<'_>, depth: usize, text: &mut String) {
    if is_flat(node) {
        text.push(' ');
        flow(node, text);
        text.push('\n');
    } else {
        text.push('\n');
        indent(depth + 1, text);
        block(node, depth + 1, text);
    }
}

/// Whether it fits a line: no mapping, and no list of anything but scalars.
fn is_flat(node: &Node<'_>) -> bool {
    match &node.kind {
        Kind::Map(entries) => entries.is_empty(),
        Kind::List(items) => items.iter().all(|item| item.scalar().is_some()),
        Kind::Plain(_) | Kind::Quoted(_) | Kind::Broken => true,
    }
}

fn flow(node: &Node<'_>, text: &mut String) {
    match &node.kind {
        Kind::Map(_) => text.push_str("{}"),
        Kind::List(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                flow(item, text);
            }
            text.push(']');
        }
        Kind::Plain(_) if node.is_null() => text.push_str("null"),
        Kind::Plain(typed) => scalar(typed, is_plain(typed), text),
        Kind::Quoted(typed) => scalar(typed, false, text),
        Kind::Broken => {}
    }
}

/// Whether a text means itself without quotes, wherever it stands.
fn is_plain(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_./+-:".contains(&byte);
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
    first && text.bytes().all(is_sign) && !text.ends_with(':')
}

fn scalar(typed: &str, is_plain: bool, text: &mut String) {
    if is_plain {
        text.push_str(typed);
        return;
    }
    text.push('"');
    for sign in typed.chars() {
        match sign {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            // What YAML does not let stand in a text, and what nobody would see there.
            _ if sign.is_control() || matches!(sign, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(text, "\\u{:04x}", u32::from(sign));
            }
            _ => text.push(sign),
        }
    }
    text.push('"');
}

fn indent(depth: usize, text: &mut String) {
    text.extend(std::iter::repeat_n("  ", depth));
}
