//! Values that are one of a few words, or yes or no.

use super::did_you_mean;
use super::found::Found;
use super::tree::{Kind, Node};

/// The value that belongs to the word, or a mistake.
pub(super) fn one_of<T: Copy>(
    node: &Node<'_>,
    field: &str,
    words: &[(&str, T)],
    found: &mut Found,
) -> Option<T> {
    if found.is_full() && words.iter().all(|(name, _)| node.scalar() != Some(name)) {
        found.count_one();
        return None;
    }
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let Some(text) = node.scalar().filter(|_| !node.is_null()) else {
        found.unfit(node, field, "a word", format!("write one of {}", did_you_mean::listed(&names)));
        return None;
    };
    let known = words.iter().find(|(name, _)| *name == text);
    if known.is_none() {
        let what = format!("`{field}` cannot be {}", node.described());
        found.add(node.place, what, did_you_mean::cure(text, &names));
    }
    known.map(|(_, value)| *value)
}

/// `true` or `false`, or a mistake.
pub(super) fn truth(node: &Node<'_>, field: &str, found: &mut Found) -> Option<bool> {
    match &node.kind {
        Kind::Plain(text) if text == "true" => Some(true),
        Kind::Plain(text) if text == "false" => Some(false),
        _ => {
            found.unfit(node, field, "`true` or `false`", "write `true` or `false`, without quotes");
            None
        }
    }
}

/// Some text that is not empty and at most `bytes_max` long, or a mistake.
pub(super) fn text<'n>(
    node: &'n Node<'_>,
    field: &str,
    bytes_max: usize,
    found: &mut Found,
) -> Option<&'n str> {
    let Some(text) = node.scalar().filter(|text| !node.is_null() && !text.trim().is_empty()) else {
        found.unfit(node, field, "a text", "write some text, or delete the field");
        return None;
    };
    if text.len() > bytes_max {
        let what = format!("`{field}` is {} bytes long, the most is {bytes_max}", text.len());
        found.add(node.place, what, "make it shorter");
        return None;
    }
    Some(text)
}

/// The items of a list, or the one value that stands for a list of one; empty lists are mistakes.
pub(super) fn items<'n, 't>(node: &'n Node<'t>, field: &str, found: &mut Found) -> &'n [Node<'t>] {
    match &node.kind {
        Kind::List(items) if items.is_empty() => {
            found.add(
                node.place,
                format!("`{field}` is an empty list"),
                "name at least one, or delete the field",
            );
            &[]
        }
        Kind::List(items) => items,
        _ => std::slice::from_ref(node),
    }
}
