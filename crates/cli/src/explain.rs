//! `tollgate explain`: which rules of a policy a request meets, which it does not and why, and what comes of it.
//!
//! Promises that the verdict is that of a fresh limiter which has seen `--after` such requests a moment ago, and nothing else.
//! Decides nothing: the library's `explain`, `check` and `answer` do.

mod account;
mod client_text;
mod flags;
mod json;
mod notes;
mod page;
mod request;

pub(crate) use flags::ExplainFlags;

use tollgate::policy::Policy;

use crate::format::Format;
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;
use crate::source::{Content, Source};

use self::account::Account;

/// Explains the request that the flags describe.
pub(crate) fn page(flags: &ExplainFlags, screen: &Screen) -> Result<Page, Problem> {
    let source = Source::read(&flags.policy, Content::Policy)?;
    let policy = Policy::parse(&source.name, &source.text)?;
    let request = request::described(flags, &policy).map_err(Problem::Usage)?;
    let account = Account::of(&policy, &request, flags.after)?;
    Ok(Page::good(match flags.format.chosen() {
        Format::Table => page::draw(&account, &source.name, screen),
        Format::Json => account.json(),
    }))
}
