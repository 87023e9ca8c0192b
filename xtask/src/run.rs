//! `cargo xtask run`: Tollgate at work, built for speed.

use std::process::ExitCode;

use crate::problem::Problem;
use crate::workspace::Workspace;

/// Builds the release binary and runs it: `tollgate serve` with the given flags, or the verb that they begin with.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    let run = ["run", "--release", "--package", "tollgate-cli", "--bin", "tollgate", "--"];
    workspace.cargo(run).args(typed(arguments)).hand_over()
}

/// What is typed after `tollgate`.
fn typed(arguments: &[String]) -> Vec<String> {
    let has_verb = arguments.first().is_some_and(|first| !first.starts_with('-'));
    let verb = if has_verb { None } else { Some("serve".to_owned()) };
    verb.into_iter().chain(arguments.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn without_a_verb_it_serves() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(typed(&[]), words("serve"));
        assert_eq!(typed(&words("--http off")), words("serve --http off"));
        assert_eq!(typed(&words("demo --svg a.svg")), words("demo --svg a.svg"));
    }
}
