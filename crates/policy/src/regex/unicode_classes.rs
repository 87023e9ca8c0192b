//! The number of classes that a regex has in Unicode mode.
//!
//! Such a class may hold a million characters, and `(?i)` looks at each of them. Classes of bytes are small.

use std::convert::Infallible;

use regex_syntax::ast::{self, Ast, ClassSetBinaryOp, ClassSetItem, Flag, Flags, GroupKind, Visitor};

/// Returns the number of classes, also within classes; 0 for a regex that never switches Unicode on.
pub(super) fn count(ast: &Ast) -> usize {
    let Ok(Classes { count, is_unicode }) = ast::visit(ast, Classes::default());
    if is_unicode { count } else { 0 }
}

#[derive(Default)]
struct Classes {
    count: usize,
    is_unicode: bool,
}

impl Classes {
    fn note_flags(&mut self, flags: &Flags) {
        self.is_unicode |= flags.flag_state(Flag::Unicode) == Some(true);
    }
}

impl Visitor for Classes {
    type Output = Classes;
    type Err = Infallible;

    fn finish(self) -> Result<Classes, Infallible> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        match ast {
            Ast::Flags(set) => self.note_flags(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.note_flags(flags);
                }
            }
            Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_) => self.count += 1,
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        let is_class =
            matches!(item, ClassSetItem::Unicode(_) | ClassSetItem::Perl(_) | ClassSetItem::Bracketed(_));
        self.count += usize::from(is_class);
        Ok(())
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ClassSetBinaryOp) -> Result<(), Infallible> {
        self.count += 1;
        Ok(())
    }
}
