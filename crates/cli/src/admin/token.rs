//! The token that is sent: from a file or the environment, else the viewer token of a local server's start. Never from the command line,
//! which other users of the machine can read.

use std::fmt;
use std::path::Path;

use tollgate_server::{read_secret, read_start_token};

/// Holds the token.
const VARIABLE: &str = "TOLLGATE_ADMIN_TOKEN";
/// Names the file that holds it.
const FILE_VARIABLE: &str = "TOLLGATE_ADMIN_TOKEN_FILE";
/// Longest token, in bytes: what the door looks at.
const TOKEN_BYTES_MAX: usize = 512;

/// A token. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

/// Why there is none, and whether the command line is at fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoToken {
    pub(super) is_usage: bool,
    pub(super) why: String,
}

impl Token {
    /// The token of the flag, else that of the environment; none where nobody names one.
    pub(super) fn find(
        file: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Token>, NoToken> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(path) = file {
            return Token::of_file("--token-file", &path.display().to_string())
                .map(Some)
                .map_err(|why| NoToken { is_usage: true, why });
        }
        let found = match (variable(VARIABLE), variable(FILE_VARIABLE)) {
            (Some(_), Some(_)) => Err(format!("{VARIABLE} and {FILE_VARIABLE} are both set; unset one")),
            (Some(text), None) => Token::checked(VARIABLE, text).map(Some),
            (None, Some(path)) => Token::of_file(FILE_VARIABLE, &path).map(Some),
            (None, None) => Ok(None),
        };
        found.map_err(|why| NoToken { is_usage: false, why })
    }

    /// Returns the viewer token that a server of this user keeps at `path` while there is no other token. `None` if there is no such file.
    pub(super) fn of_start(path: &Path) -> Result<Option<Token>, NoToken> {
        let found = read_start_token(path)
            .map_err(|why| format!("'{}' is not used: {why}, or put a token into {VARIABLE}", path.display()))
            .and_then(|text| {
                text.map(|text| Token::checked(&format!("the file '{}'", path.display()), text)).transpose()
            });
        found.map_err(|why| NoToken { is_usage: false, why })
    }

    fn of_file(origin: &str, path: &str) -> Result<Token, String> {
        let text = read_secret(path).map_err(|why| format!("{origin} is '{path}': {why}"))?;
        Token::checked(&format!("the file '{path}' of {origin}"), text)
    }

    /// What can be sent at all; whether it is good is the door's to say.
    fn checked(origin: &str, text: String) -> Result<Token, String> {
        let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if (1..=TOKEN_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_of_token) {
            return Ok(Token(text));
        }
        Err(format!(
            "{origin} holds no token; put there what `tollgate token create` printed, which begins with tg_"
        ))
    }

    /// What the field `Authorization` says.
    pub(super) fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Option<Token>, NoToken> {
        Token::find(None, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_token_is_taken_from_the_environment_and_shown_nowhere() {
        let token = found(&[(VARIABLE, "tg_a_b")]).unwrap().unwrap();
        assert_eq!(token.authorization(), "Bearer tg_a_b");
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(found(&[(VARIABLE, ""), (FILE_VARIABLE, "")]), Ok(None));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_being_shown() {
        for text in ["tg_a b", "tg_\u{1b}", "tg_é", &"a".repeat(513)] {
            let refused = found(&[(VARIABLE, text)]).unwrap_err();
            assert!(
                !refused.why.contains(text) && refused.why.contains("tollgate token create"),
                "{refused:?}"
            );
        }
        let refused = found(&[(VARIABLE, "tg_a_b"), (FILE_VARIABLE, "/f")]).unwrap_err();
        assert!(refused.why.contains("unset one") && !refused.why.contains("tg_a_b"), "{refused:?}");
    }

    #[test]
    fn start_token_that_others_may_write_is_refused() {
        let folder = std::env::temp_dir().join(format!("tollgate-start-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("admin-8082.token");
        assert_eq!(Token::of_start(&file), Ok(None));
        std::fs::write(&file, "tg_start_1\n").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(Token::of_start(&file), Ok(Some(Token("tg_start_1".to_owned()))));
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let refused = Token::of_start(&file).unwrap_err();
        for told in ["admin-8082.token' is not used", "0644", VARIABLE] {
            assert!(refused.why.contains(told), "{refused:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
