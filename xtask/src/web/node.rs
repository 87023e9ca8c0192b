//! The machine's Node and npm, which the page is built with.

use crate::problem::Problem;
use crate::version::version_in;
use crate::workspace::Workspace;

/// The oldest Node that Vite works with.
const AT_LEAST: &str = "20.19";

/// What Node says its version is, if it and npm will do.
pub(super) fn find(workspace: &Workspace) -> Result<String, Problem> {
    let version_of = |program: &str| workspace.program(program, ["--version"]).read().ok();
    let node = version_of("node").map(|said| said.trim().to_owned());
    judge(node, version_of("npm").is_some()).map_err(|trouble| {
        Problem::usage(format!(
            "the dashboard's page is built with Node {AT_LEAST} or newer and its npm; {trouble}. \
             Get it from https://nodejs.org. Everything else works without it"
        ))
    })
}

fn judge(node: Option<String>, has_npm: bool) -> Result<String, String> {
    match node {
        None => Err("there is no `node` on PATH".to_owned()),
        Some(said) if version_in(&said) < version_in(AT_LEAST) => {
            Err(format!("`node` on PATH is {said}, which is too old"))
        }
        Some(_) if !has_npm => Err("there is no `npm` on PATH".to_owned()),
        Some(said) => Ok(said),
    }
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn what_is_missing_is_said() {
        let said = |version: &str| Some(version.to_owned());
        assert_eq!(judge(said("v20.19.0"), true), Ok("v20.19.0".to_owned()));
        assert_eq!(judge(said("v24.1.0"), true), Ok("v24.1.0".to_owned()));
        assert!(judge(said("v18.20.4"), true).unwrap_err().contains("is v18.20.4, which is too old"));
        assert!(judge(said("v20.19.0"), false).unwrap_err().contains("no `npm`"));
        assert!(judge(None, false).unwrap_err().contains("no `node`"));
    }
}
