//! The layer: wraps services so that they enforce a policy.

use std::fmt;
use std::sync::Arc;

use tollgate::PolicyLimiter;
use tollgate::policy::Facts;
use tower_layer::Layer;

use crate::turnstile::Turnstile;
use crate::{RequestHead, TollgateService, TurnstileStats, Warning};

/// Enforces a policy on every service that it wraps. Cheap to clone; clones, and all that they wrap, share every bucket.
#[derive(Clone)]
pub struct TollgateLayer {
    turnstile: Arc<Turnstile>,
}

impl TollgateLayer {
    /// A layer that enforces the policy of this limiter. Keep a clone of the limiter to swap the policy later.
    pub fn new(limiter: PolicyLimiter) -> TollgateLayer {
        TollgateLayer { turnstile: Arc::new(Turnstile::new(limiter)) }
    }

    /// The same, and `add` completes the facts of every request by what only the program knows. It runs after everything
    /// else and may overrule it. What it reads from the request must be something that the client cannot choose.
    ///
    /// ```
    /// # use tollgate_tower::{PolicyLimiter, TollgateLayer};
    /// struct Session { account: String }
    /// # fn layer(limiter: PolicyLimiter) -> TollgateLayer {
    /// TollgateLayer::new(limiter).facts_with(|request, facts| {
    ///     facts.user = request.extensions.get::<Session>().map(|session| session.account.as_str());
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn facts_with(
        mut self,
        add: impl for<'a> Fn(RequestHead<'a>, &mut Facts<'a>) + Send + Sync + 'static,
    ) -> TollgateLayer {
        Arc::make_mut(&mut self.turnstile).facts_with = Some(Arc::new(add));
        self
    }

    /// The same, and warnings go to `tell`; to standard error unless told otherwise. Each kind is told once.
    #[must_use]
    pub fn on_warning(mut self, tell: impl Fn(&Warning) + Send + Sync + 'static) -> TollgateLayer {
        Arc::make_mut(&mut self.turnstile).on_warning = Arc::new(tell);
        self
    }

    /// The same, and tokens are verified by this verifier, made of the policy's `jwt` settings and keys.
    #[cfg(feature = "jwt")]
    #[must_use]
    pub fn verify_tokens(self, verifier: tollgate::jwt::Verifier) -> TollgateLayer {
        self.set_verifier(verifier);
        self
    }

    /// Verifies tokens by other keys from now on, in every clone: when a key set was fetched anew, or the policy was swapped.
    #[cfg(feature = "jwt")]
    pub fn set_verifier(&self, verifier: tollgate::jwt::Verifier) {
        self.turnstile.tokens.set_verifier(verifier);
    }

    /// What this layer and its clones have seen.
    pub fn stats(&self) -> TurnstileStats {
        self.turnstile.counts.read()
    }

    /// The limiter.
    pub fn limiter(&self) -> &PolicyLimiter {
        &self.turnstile.limiter
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = TollgateService<S>;

    fn layer(&self, inner: S) -> TollgateService<S> {
        TollgateService::new(inner, Arc::clone(&self.turnstile))
    }
}

impl fmt::Debug for TollgateLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut layer = f.debug_struct("TollgateLayer");
        layer.field("limiter", self.limiter()).field("stats", &self.stats()).finish_non_exhaustive()
    }
}
