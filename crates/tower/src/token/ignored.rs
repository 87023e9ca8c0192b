//! Tokens, where they count for nothing.

use std::convert::Infallible;

use tollgate::policy::Claims;
use tollgate::{InForce, PolicyLimiter};

use crate::Warning;
use tollgate::policy::HeaderFields;

/// There is none.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) user: Option<String>,
    pub(crate) plan: Option<String>,
    never: Infallible,
}

/// Reads none.
#[derive(Debug, Default)]
pub(crate) struct TokenReader;

impl Token {
    pub(crate) fn claims(&self) -> Claims<'_> {
        match self.never {}
    }
}

impl TokenReader {
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn read(
        &self,
        _: &PolicyLimiter,
        policy: &InForce<'_>,
        fields: HeaderFields<'_>,
    ) -> Result<Option<Box<Token>>, Option<Warning>> {
        match &policy.jwt {
            Some(settings) if fields.0.contains_key(&*settings.header) => {
                Err(Some(Warning::WithoutTokenKeys))
            }
            _ => Ok(None),
        }
    }
}
