//! `tollgate rules`: the rules of a running server, those in force and those on record, and how they became so.
//!
//! Promises that whatever changes rules shows first what it changes, and names the version that it was shown: of two who change the same
//! version, one is told.

mod apply;
mod conflict;
mod difference;
mod flags;
mod history;
mod in_force;
mod line_diff;
mod on_record;
mod order;
mod rule_file;

pub(crate) use flags::RulesFlags;
pub(crate) use in_force::{Counts, RulesInForce};

use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;

use self::flags::RulesVerb;

/// Does what was asked.
pub(crate) fn page(flags: &RulesFlags, screen: &Screen) -> Result<Page, Problem> {
    match &flags.verb {
        RulesVerb::List(flags) => in_force::list(flags, screen),
        RulesVerb::Get(flags) => in_force::get(flags, screen),
        RulesVerb::Validate(flags) => apply::validate(flags),
        RulesVerb::Diff(flags) => apply::diff(flags, screen),
        RulesVerb::Apply(flags) => apply::apply(flags),
        RulesVerb::Delete(flags) => on_record::delete(flags),
        RulesVerb::Activate(flags) => on_record::switch(flags, "activate"),
        RulesVerb::Deactivate(flags) => on_record::switch(flags, "deactivate"),
        RulesVerb::Export(flags) => on_record::export(flags),
        RulesVerb::History(flags) => history::list(flags, screen),
        RulesVerb::Rollback(flags) => history::rollback(flags),
        RulesVerb::Mode(flags) => order::mode(flags, screen),
        RulesVerb::Kill(flags) => order::kill(flags, screen),
        RulesVerb::Reload(flags) => in_force::reload(flags),
    }
}
