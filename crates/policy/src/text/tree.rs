//! The text as a tree: what was typed and where, before anyone asks what it means.

use std::borrow::Cow;

/// Where something stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// First byte.
    pub(super) start: usize,
    /// The byte after the last.
    pub(super) end: usize,
    /// Line of the first byte, from 1.
    pub(super) line: u32,
}

/// A value and its place.
#[derive(Debug)]
pub(super) struct Node<'t> {
    pub(super) place: Place,
    pub(super) kind: Kind<'t>,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Kind<'t> {
    /// A number, a truth value or a text without quotes: exactly as typed.
    Plain(Cow<'t, str>),
    /// A text in quotes, or a block of text; without the quotes.
    Quoted(Cow<'t, str>),
    /// `[a, b]`.
    List(Vec<Node<'t>>),
    /// `{a: 1}`; keys occur once.
    Map(Vec<(Key<'t>, Node<'t>)>),
    /// Already a mistake; whoever meets it stays silent.
    Broken,
}

/// The name of a field.
#[derive(Debug)]
pub(super) struct Key<'t> {
    pub(super) place: Place,
    pub(super) text: Cow<'t, str>,
}

impl<'t> Node<'t> {
    /// Nothing: an empty value, `null` or `~`.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Plain(text) if matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What it says, if it is no list and no mapping.
    pub(super) fn scalar(&self) -> Option<&str> {
        match &self.kind {
            Kind::Plain(text) | Kind::Quoted(text) => Some(text),
            Kind::List(_) | Kind::Map(_) | Kind::Broken => None,
        }
    }

    /// Its entries, if it is a mapping.
    pub(super) fn entries(&self) -> Option<&[(Key<'t>, Node<'t>)]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of one of its fields.
    pub(super) fn field(&self, name: &str) -> Option<&Node<'t>> {
        self.entries()?.iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
    }

    /// The part of it that a finger points at: the whole of a scalar, the first name of a mapping.
    pub(super) fn head(&self) -> Place {
        match &self.kind {
            Kind::Map(entries) => entries.first().map_or(self.place, |(key, _)| key.place),
            Kind::List(items) if !items.is_empty() => {
                Place { end: self.place.start.saturating_add(1), ..self.place }
            }
            _ => self.place,
        }
    }

    /// What it is, for messages: `a list`, `"50"`, `50`. Long ones are cut.
    pub(super) fn described(&self) -> String {
        match &self.kind {
            _ if self.is_null() => "empty".to_owned(),
            Kind::Quoted(text) if text.trim().is_empty() => "empty".to_owned(),
            Kind::Plain(text) => format!("`{}`", cut(text)),
            Kind::Quoted(text) => format!("the text \"{}\"", cut(text)),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a mapping".to_owned(),
            Kind::Broken => "broken".to_owned(),
        }
    }

    /// Where a byte of the text lies within this tree, part by part: `rules`, `[1]`, `.burst`. Empty for the top.
    pub(super) fn path_to(&self, byte: usize) -> Vec<String> {
        let mut path: Vec<String> = Vec::new();
        let mut node = self;
        loop {
            let inner = match &node.kind {
                Kind::Map(entries) => {
                    entries.iter().rev().find(|(key, _)| key.place.start <= byte).map(|(key, value)| {
                        let dot = if path.is_empty() { "" } else { "." };
                        (format!("{dot}{}", cut(&key.text)), value)
                    })
                }
                Kind::List(items) => items
                    .iter()
                    .enumerate()
                    .rev()
                    .find(|(_, item)| item.head().start <= byte)
                    .map(|(at, item)| (format!("[{at}]"), item)),
                Kind::Plain(_) | Kind::Quoted(_) | Kind::Broken => None,
            };
            let Some((part, value)) = inner else { return path };
            path.push(part);
            node = value;
        }
    }
}

/// The text on one line, at most 60 characters of it.
pub(super) fn cut(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().nth(SHOWN_CHARS_MAX).is_none() {
        return text.chars().map(clean).collect();
    }
    text.chars().take(SHOWN_CHARS_MAX - 1).map(clean).chain(['…']).collect()
}
