//! The tool bench: the command `tollgate`.
//!
//! Promises: data on stdout, everything else on stderr; exit 0 good, 1 bad policy, verdict or failure, 2 usage; a closed pipe is
//! no failure. Knows no arithmetic: whatever is shown was decided by the library.

mod invocation;
mod mistyped;
mod page;
mod problem;
mod screen;

mod config;
mod healthcheck;
mod serve;

mod keys;
mod migrate;
mod rules;
mod token;
mod top;
mod violations;

mod audit;
mod check;
mod explain;
mod init;
mod presets;
mod schema;
mod test;

mod completions;
mod demo;
mod man;
mod script;

mod admin;
mod confirm;
mod decimal;
mod format;
mod listing;
mod mistakes_text;
mod order_flags;
mod orders;
mod prose;
mod records_place;
mod source;
mod visible;
mod when;

use std::process::ExitCode;

use clap::Parser;

use self::invocation::{Invocation, Verb};
use self::page::Page;
use self::screen::Screen;

fn main() -> ExitCode {
    let Invocation { verb } = match Invocation::try_parse() {
        Ok(invocation) => invocation,
        Err(error) => return mistyped::report(&error),
    };
    let screen = Screen::of_stdout();
    let page = match verb {
        Verb::Serve(flags) => serve::page(&flags),
        Verb::Config(flags) => config::page(&flags),
        Verb::Healthcheck(flags) => healthcheck::page(&flags),
        Verb::Rules(flags) => rules::page(&flags, &screen),
        Verb::Keys(flags) => keys::page(&flags, &screen),
        Verb::Violations(flags) => violations::page(&flags, &screen),
        Verb::Audit(flags) => audit::page(&flags, &screen),
        Verb::Top(flags) => top::page(&flags, &screen),
        Verb::Token(flags) => token::page(&flags, &screen),
        Verb::Migrate(flags) => migrate::page(&flags),
        Verb::Check(flags) => check::page(&flags, &screen),
        Verb::Explain(flags) => explain::page(&flags, &screen),
        Verb::Test(flags) => test::page(&flags, &screen),
        Verb::Init(flags) => init::page(&flags),
        Verb::Presets(flags) => presets::page(&flags, &screen),
        Verb::Schema => Ok(schema::page()),
        Verb::Script(flags) => Ok(script::page(&flags)),
        Verb::Completions(flags) => Ok(completions::page(&flags)),
        Verb::Man(flags) => man::page(&flags),
        Verb::Demo(flags) => demo::page(flags, &screen).map(Page::good),
    };
    let shown = page.and_then(|page| screen::show(&page.text).map(|()| page.is_good));
    match shown {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(problem) => problem.report(),
    }
}
