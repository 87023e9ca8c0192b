//! Tokens, where they count for nothing.

use tollgate::policy::Claims;
use tollgate::{InForce, PolicyLimiter};

use crate::Warning;
use crate::header_fields::HeaderFields;

/// There is none.
#[derive(Debug)]
pub(crate) enum Token {}

/// Reads none.
#[derive(Debug, Default)]
pub(crate) struct TokenReader;

impl Token {
    pub(crate) fn user(&self) -> Option<&str> {
        match *self {}
    }

    pub(crate) fn plan(&self) -> Option<&str> {
        match *self {}
    }

    pub(crate) fn claims(&self) -> Claims<'_> {
        match *self {}
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
