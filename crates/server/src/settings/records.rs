//! Where rules, orders and violations are filed unless somebody says otherwise: in a file of the state directory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use super::store;

/// The file's name in the state directory.
const FILE: &str = "tollgate.db";
/// How URLs of records begin.
const SCHEMES: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];

/// Whether the URL is one of records at all.
pub(super) fn is_ours(url: &str) -> bool {
    SCHEMES.iter().any(|scheme| url.starts_with(scheme))
}

/// The text without a password.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    if text.starts_with("sqlite:") { Cow::Borrowed(text) } else { store::masked(text) }
}

/// Where records are if nobody has named a place.
pub(super) fn usual(state_dir: Option<&str>) -> String {
    match state_dir {
        Some(folder) => format!("sqlite:{}", Path::new(folder).join(FILE).display()),
        None => "off".to_owned(),
    }
}

/// The state directory that the machine has for us, and the variable that says so: the service manager's, else one where the programs
/// of this user keep theirs (XDG). None if there is no user to speak of.
pub(super) fn usual_state_dir(environment: &BTreeMap<String, String>) -> Option<(String, &'static str)> {
    let absolute = |variable: &str| environment.get(variable).filter(|path| path.starts_with('/'));
    // Of several the first is meant.
    if let Some(folders) = absolute("STATE_DIRECTORY") {
        return folders.split(':').next().map(|first| (first.to_owned(), "STATE_DIRECTORY"));
    }
    let below = |path: &String, rest: &str| Path::new(path).join(rest).display().to_string();
    absolute("XDG_STATE_HOME")
        .map(|home| (below(home, "tollgate"), "XDG_STATE_HOME"))
        .or_else(|| absolute("HOME").map(|home| (below(home, ".local/state/tollgate"), "HOME")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(environment: &[(&str, &str)], expected: Option<(&str, &'static str)>) {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let found = usual_state_dir(&environment.collect());
        assert_eq!(found, expected.map(|(folder, variable)| (folder.to_owned(), variable)));
    }

    #[test]
    fn the_service_manager_beats_the_desktop_which_beats_the_home() {
        let home = ("HOME", "/of/ann");
        check(
            &[("STATE_DIRECTORY", "/var/lib/tollgate:/var/lib/other"), ("XDG_STATE_HOME", "/x"), home],
            Some(("/var/lib/tollgate", "STATE_DIRECTORY")),
        );
        check(&[("XDG_STATE_HOME", "/x"), home], Some(("/x/tollgate", "XDG_STATE_HOME")));
        check(&[("XDG_STATE_HOME", "relative"), home], Some(("/of/ann/.local/state/tollgate", "HOME")));
        check(&[], None);
    }

    #[test]
    fn records_are_a_file_of_the_state_directory_or_nowhere() {
        assert_eq!(usual(Some("/var/lib/tollgate")), "sqlite:/var/lib/tollgate/tollgate.db");
        assert_eq!(usual(None), "off");
    }

    #[test]
    fn no_password_is_shown() {
        assert!(!masked("postgres://ann:secret@h/d?password=secret").contains("secret"));
        assert_eq!(masked("sqlite:/of/a@b/x.db"), "sqlite:/of/a@b/x.db");
    }
}
