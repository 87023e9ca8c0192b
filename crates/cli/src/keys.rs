//! `tollgate keys`: single clients of a running server: who asks most, what their buckets hold, and what operators order about them.

mod bucket;
mod client_order;
mod flags;
mod talkers;
mod who;

pub(crate) use flags::KeysFlags;
pub(crate) use talkers::{By, Talker};

use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;

use self::flags::KeysVerb;

/// Does what was asked.
pub(crate) fn page(flags: &KeysFlags, screen: &Screen) -> Result<Page, Problem> {
    match &flags.verb {
        KeysVerb::Top(flags) => talkers::list(flags, screen),
        KeysVerb::Get(flags) => bucket::get(flags, screen),
        KeysVerb::Reset(flags) => bucket::reset(flags, screen),
        KeysVerb::Grant(flags) => bucket::grant(flags, screen),
        KeysVerb::Block(flags) => client_order::give(flags, "block", screen),
        KeysVerb::Allow(flags) => client_order::give(flags, "allow", screen),
        KeysVerb::Unblock(flags) => client_order::unblock(flags, screen),
        KeysVerb::Override(flags) => client_order::give_override(flags, screen),
        KeysVerb::Orders(flags) => client_order::list(flags, screen),
        KeysVerb::Release(flags) => client_order::release(flags, screen),
    }
}
