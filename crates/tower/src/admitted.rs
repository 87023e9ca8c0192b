//! What an admitted request leaves to be done when its response comes.

use http::{HeaderMap, Response, StatusCode};
use tollgate::{Decision, PolicyLimiter};

use crate::admission_fields::AdmissionFields;

/// An admitted request's loose ends.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// What the client is told.
    pub(crate) fields: AdmissionFields,
    /// Charges to settle and places to give back, of the few requests that have any.
    pub(crate) open: Option<Box<Open>>,
}

/// Charges to settle by the response, and places held until this is dropped.
#[derive(Debug)]
pub(crate) struct Open {
    limiter: PolicyLimiter,
    decision: Decision,
}

impl Open {
    /// What a decision that awaits the response leaves open.
    pub(crate) fn new(limiter: &PolicyLimiter, decision: Decision) -> Open {
        Open { limiter: limiter.clone(), decision }
    }

    /// Refunds and settles by the response. A field of which there are several says nothing.
    fn settle(&self, status: StatusCode, headers: &HeaderMap) {
        let told = |name: &str| {
            let mut values = headers.get_all(name).iter();
            let only = values.next().filter(|_| values.next().is_none());
            only.and_then(|value| value.to_str().ok())
        };
        self.limiter.settle(&self.decision, status.as_u16(), told);
    }
}

impl Admitted {
    /// Settles by the response and adds the fields; what must be held until its body has ended.
    #[inline]
    pub(crate) fn finish<B>(self, response: &mut Response<B>) -> Option<Box<Open>> {
        if let Some(open) = &self.open {
            open.settle(response.status(), response.headers());
        }
        self.fields.add_to(response.headers_mut());
        self.open
    }
}
