//! `cargo xtask run`: Tollgate at work, built for speed.

use std::process::ExitCode;

use crate::problem::Problem;
use crate::web::Page;
use crate::workspace::Workspace;

/// Builds the release binary and runs it: the live demo; or `tollgate serve` with the given flags, or the verb that they begin
/// with.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    if arguments.is_empty()
        && let Err(problem) = Page::find(workspace).and_then(|page| page.build())
    {
        eprintln!("xtask: going on without the dashboard's page: {problem}");
    }
    let run = ["run", "--release", "--package", "tollgate-cli", "--bin", "tollgate", "--"];
    workspace.cargo(run).args(typed(arguments)).take_over()
}

/// What is typed after `tollgate`.
fn typed(arguments: &[String]) -> Vec<String> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let verb = match arguments.first() {
        None => words("demo --live"),
        Some(flag) if flag.starts_with('-') => words("serve"),
        Some(_) => Vec::new(),
    };
    verb.into_iter().chain(arguments.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn without_a_verb_flags_are_for_the_service_and_nothing_shows_the_live_demo() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(typed(&[]), words("demo --live"));
        assert_eq!(typed(&words("--http off")), words("serve --http off"));
        assert_eq!(typed(&words("demo --svg a.svg")), words("demo --svg a.svg"));
    }
}
