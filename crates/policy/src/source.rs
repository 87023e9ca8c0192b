//! Where a rule, a mistake or a lint comes from.

use std::fmt;

/// Where something was said. In the order in which rules are put together: what the file says first, orders last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Source {
    /// The policy file.
    #[default]
    File,
    /// The entry of this name.
    Entry(Box<str>),
    /// The plain row of this number (`rule_id`).
    Row(i64),
    /// The standing order of this number.
    Order(i64),
}

impl Source {
    /// Whether it is a standing order.
    pub const fn is_order(&self) -> bool {
        matches!(self, Source::Order(_))
    }

    /// With the line where something begins: `on line 3`, `on line 1 of entry "search"`, `in row 7`.
    pub(crate) fn at(&self, line: u32) -> String {
        match self {
            Source::File => format!("on line {line}"),
            Source::Entry(_) => format!("on line {line} of {self}"),
            Source::Row(_) | Source::Order(_) => format!("in {self}"),
        }
    }
}

/// `the file`, `entry "search"`, `row 7`, `order 12`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File => f.write_str("the file"),
            Source::Entry(name) => write!(f, "entry \"{}\"", name.escape_debug()),
            Source::Row(id) => write!(f, "row {id}"),
            Source::Order(id) => write!(f, "order {id}"),
        }
    }
}
