//! Tokens, where they count for nothing.

use tollgate::policy::Claims;
use tollgate::{InForce, PolicyLimiter};

use crate::Warning;
use crate::header_fields::HeaderFields;

/// Nothing.
#[derive(Debug, Default)]
pub(crate) struct Token {
    pub(crate) user: Option<String>,
    pub(crate) plan: Option<String>,
}

/// Reads none.
#[derive(Debug, Default)]
pub(crate) struct TokenReader;

impl Token {
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn claims(&self) -> Claims<'_> {
        Claims::None
    }
}

impl TokenReader {
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn read(
        &self,
        _: &PolicyLimiter,
        policy: &InForce<'_>,
        fields: HeaderFields<'_>,
    ) -> Result<Token, Option<Warning>> {
        match &policy.jwt {
            Some(settings) if fields.0.contains_key(&*settings.header) => {
                Err(Some(Warning::WithoutTokenKeys))
            }
            _ => Ok(Token::default()),
        }
    }
}
