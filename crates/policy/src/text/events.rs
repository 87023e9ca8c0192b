//! Builds the tree from the events of the YAML parser. JSON is YAML 1.2.
//!
//! Bounded: at most 4 MiB, 64 levels, 1,000,000 nodes. Refuses what makes YAML treacherous: aliases, tags, duplicate
//! keys, several documents. This is the only file that knows the parser.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::TEXT_BYTES_MAX;
use super::found::Found;
use super::tree::{Key, Kind, Node, Place, cut};

/// Deepest nesting. A policy needs about ten.
const DEPTH_MAX: usize = 64;
/// Most values in one file.
const NODES_MAX: usize = 1_000_000;

/// A list or a mapping that has not ended yet.
struct Open<'t> {
    place: Place,
    /// A mapping whose next value has this name.
    key: Option<Key<'t>>,
    kind: Kind<'t>,
    /// Names so far and the lines they are on.
    names: HashMap<Cow<'t, str>, u32>,
}

/// The builder: what is open, and the whole once it is closed.
struct Builder<'t, 'f> {
    text: &'t str,
    open: Vec<Open<'t>>,
    whole: Option<Node<'t>>,
    nodes: usize,
    found: &'f mut Found,
}

/// The tree of a text; `None`, with a mistake, if it is not even YAML, or empty.
pub(super) fn read<'t>(text: &'t str, found: &mut Found) -> Option<Node<'t>> {
    let top = Place { start: 0, end: 0, line: 1 };
    if text.len() > TEXT_BYTES_MAX {
        let what = format!("the text is {} bytes long, the most is {TEXT_BYTES_MAX}", text.len());
        found.add(top, what, "split the policy, or describe many clients by one rule and a key");
        return None;
    }
    let options = granit_parser::options! {
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        emit_unresolved_aliases: true,
        emit_comments: false,
    };
    let mut builder = Builder { text, open: Vec::new(), whole: None, nodes: 0, found };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => builder.take(event, span)?,
            Err(error) => {
                builder.syntax(&error);
                return None;
            }
        }
    }
    let Builder { whole, found, .. } = builder;
    if whole.as_ref().is_none_or(Node::is_null) {
        found.add(
            top,
            "the policy is empty",
            "write at least one rule; `tollgate init` writes a policy to start from",
        );
        return None;
    }
    whole
}

impl<'t> Builder<'t, '_> {
    /// `None` when it is pointless to go on.
    fn take(&mut self, event: Event<'t>, span: Span) -> Option<()> {
        let place = self.place(span);
        match event {
            Event::DocumentStart(..) if self.whole.is_some() => {
                let cure = "delete this line, or put the other documents into files of their own";
                self.found.add(place, "a second document begins here; a policy is one", cure);
                return None;
            }
            Event::Scalar(value, style, anchor, tag) => {
                self.refuse_extras(place, anchor, tag.is_some());
                let kind = match style {
                    ScalarStyle::Plain => Kind::Plain(value),
                    _ => Kind::Quoted(value),
                };
                return self.close(Node { place, kind });
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let cure = "write the value out; a policy says what it means where it means it";
                self.found.add(place, "aliases (`*name`) are not read in a policy", cure);
                return self.close(Node { place, kind: Kind::Broken });
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_extras(place, anchor, tag.is_some());
                return self.enter(place, Kind::List(Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_extras(place, anchor, tag.is_some());
                return self.enter(place, Kind::Map(Vec::new()));
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop()?;
                let end = place.end.max(open.place.end);
                return self.close(Node { place: Place { end, ..open.place }, kind: open.kind });
            }
            _ => {}
        }
        Some(())
    }

    fn enter(&mut self, place: Place, kind: Kind<'t>) -> Option<()> {
        if self.open.len() == DEPTH_MAX {
            self.too_deep(place);
            return None;
        }
        self.open.push(Open { place, key: None, kind, names: HashMap::new() });
        Some(())
    }

    /// A value is complete: it goes into what it stands in.
    fn close(&mut self, node: Node<'t>) -> Option<()> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let what = format!("more than {NODES_MAX} values in one policy");
            self.found.add(node.place, what, "describe many clients by one rule and a key");
            return None;
        }
        let Some(open) = self.open.last_mut() else {
            self.whole = Some(node);
            return Some(());
        };
        match (&mut open.kind, open.key.take()) {
            (Kind::Map(entries), Some(key)) => {
                if let Some(line) = open.names.get(&key.text) {
                    let what = format!("`{}` is given twice; the first is on line {line}", cut(&key.text));
                    self.found.add_to_whole(key.place, what, "keep one of the two");
                } else {
                    open.names.insert(key.text.clone(), key.place.line);
                    entries.push((key, node));
                }
            }
            (Kind::Map(_), None) => {
                let place = node.place;
                let text = match node.kind {
                    Kind::Plain(text) | Kind::Quoted(text) => text,
                    _ => {
                        self.found.add(
                            node.head(),
                            "a list or a mapping is no name of a field",
                            "write a name before the colon",
                        );
                        Cow::Borrowed("")
                    }
                };
                open.key = Some(Key { place, text });
            }
            (Kind::List(items), _) => items.push(node),
            _ => {}
        }
        Some(())
    }

    fn refuse_extras(&mut self, place: Place, anchor: usize, is_tagged: bool) {
        if anchor != 0 {
            let cure = "delete the anchor, and write the value out where it is used";
            self.found.add(place, "anchors (`&name`) are not read in a policy", cure);
        }
        if is_tagged {
            self.found.add(place, "tags (`!name`) are not read in a policy", "delete the tag");
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        let marker = error.marker();
        let place = self.at(marker.byte_offset().unwrap_or(self.text.len()));
        let told = error.info();
        if told.contains("nesting") || told.contains("recursion") {
            return self.too_deep(place);
        }
        if let Some(tab) = self.indenting_tab(place, told.contains("tab")) {
            let what = "a tab indents this line, and YAML indents with spaces alone";
            return self.found.add(tab, what, "use spaces, the same number for lines that belong together");
        }
        let what = format!("this is neither YAML nor JSON: {told}");
        let cure = match () {
            () if self.text.trim_start().starts_with(['{', '[']) => {
                "look for a missing comma, quote or bracket here or just before"
            }
            () => "look at the indentation, colons and quotes here or just before",
        };
        self.found.add(place, what, cure);
    }

    /// The tab that indents the line of a fault; or, if the parser `names_tabs`, which it may do at the end of the line before,
    /// that of the next line that has one.
    fn indenting_tab(&self, place: Place, names_tabs: bool) -> Option<Place> {
        let before = self.text.get(..place.start)?;
        let mut start = before.rfind('\n').map_or(0, |at| at + 1);
        for (line, number) in self.text.get(start..)?.split_inclusive('\n').zip(place.line..) {
            let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
            if let Some(tab) = line.get(..indentation)?.find('\t') {
                return Some(Place { start: start + tab, end: start + tab + 1, line: number });
            }
            if !names_tabs {
                return None;
            }
            start += line.len();
        }
        None
    }

    fn too_deep(&mut self, place: Place) {
        let what = format!("more than {DEPTH_MAX} levels of lists and mappings");
        self.found.add(place, what, "write it flatter; `any` and `all` take lists");
    }

    fn place(&self, span: Span) -> Place {
        let range = span.byte_range().unwrap_or(0..0);
        let line = u32::try_from(span.start.line()).unwrap_or(u32::MAX);
        let end = range.end.min(self.text.len());
        Place { start: range.start.min(end), end, line }
    }

    fn at(&self, byte: usize) -> Place {
        let start = byte.min(self.text.len());
        let before = self.text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Place { start, end: start, line: u32::try_from(line).unwrap_or(u32::MAX) }
    }
}
