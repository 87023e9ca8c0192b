//! What a layer and its services share: the limiter, who is told what, and what has been seen.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http_body::SizeHint;
use tollgate::policy::{
    Claims, ClientAddressSettings, Facts, HeaderFields, Trust, client_address, trust_line,
};
use tollgate::{Asking, Deciding, Decision, InForce, PolicyLimiter};

use crate::admission_fields::AdmissionFields;
use crate::admitted::{Admitted, Open};
use crate::stats::Counts;
use crate::token::{Token, TokenReader};
use crate::turn::Turn;
use crate::{Principal, RequestHead, Warning, answer, peer, request_facts};

/// Adds to a request's facts what only the program knows.
pub(crate) type FactsHook = dyn for<'a> Fn(RequestHead<'a>, &mut Facts<'a>) + Send + Sync;

/// What becomes of a request at the turnstile.
pub(crate) enum Passage {
    /// It goes ahead.
    Free(Admitted),
    /// It goes ahead when its turn comes.
    InTurn(Turn, Admitted),
    /// It does not.
    Denied(Box<Response<Bytes>>),
    /// A shared ledger was asked. Boxed: what is known at once is not to be moved about with it.
    Asked(Box<Deciding>),
}

/// The settings of a layer. Clones share limiter, counts and keys.
#[derive(Clone)]
pub(crate) struct Turnstile {
    pub(crate) limiter: PolicyLimiter,
    pub(crate) counts: Arc<Counts>,
    pub(crate) tokens: Arc<TokenReader>,
    pub(crate) facts_with: Option<Arc<FactsHook>>,
    pub(crate) on_warning: Arc<dyn Fn(&Warning) + Send + Sync>,
}

impl Turnstile {
    pub(crate) fn new(limiter: PolicyLimiter) -> Turnstile {
        Turnstile {
            limiter,
            counts: Arc::default(),
            tokens: Arc::default(),
            facts_with: None,
            on_warning: Arc::new(|warning| eprintln!("tollgate: {warning}")),
        }
    }

    /// Decides a request and charges it if it is admitted, or asks a shared ledger to.
    #[inline(never)]
    pub(crate) fn pass(&self, head: RequestHead<'_>, body: &SizeHint) -> Passage {
        let (policy, fields) = (self.limiter.policy(), HeaderFields(head.headers));
        let address = self.client_address(&policy, head);
        let token = self.read_token(&policy, fields);
        let (user, plan) = match (head.extensions.get::<Principal>(), &token) {
            // The plan of somebody's token is not that of whom the program knows.
            (Some(principal), _) => (principal.user.as_deref(), principal.plan.as_deref()),
            (None, Some(token)) => (token.user.as_deref(), token.plan.as_deref()),
            (None, None) => (None, None),
        };
        let mut facts = Facts {
            address,
            headers: &fields,
            user,
            plan,
            claims: token.as_ref().map_or(Claims::None, |token| token.claims()),
            ..request_facts::of(head, body)
        };
        if let Some(facts_with) = &self.facts_with {
            facts_with(head, &mut facts);
        }
        if self.limiter.ledger().is_some() {
            return ask(policy, &facts);
        }
        self.pass_by(policy.check(&facts), head)
    }

    /// What the answer of a shared ledger means for its request.
    #[cold]
    pub(crate) fn pass_by_answer(&self, decision: Decision, head: RequestHead<'_>) -> Passage {
        self.pass_by(decision, head)
    }

    /// What a decision means for its request.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what it gives is large: where it is not inlined, every request copies it"
    )]
    fn pass_by(&self, decision: Decision, head: RequestHead<'_>) -> Passage {
        if !decision.is_admitted() {
            return Passage::Denied(self.deny(head, &decision));
        }
        let turn = Turn::of(&decision);
        let fields = AdmissionFields::of(&self.limiter, &decision);
        let open = if decision.awaits_response() {
            Some(Box::new(Open::new(&self.limiter, decision)))
        } else {
            None
        };
        match turn {
            None => Passage::Free(Admitted { fields, open }),
            Some(turn) => Passage::InTurn(turn, Admitted { fields, open }),
        }
    }

    #[cold]
    fn deny(&self, head: RequestHead<'_>, decision: &Decision) -> Box<Response<Bytes>> {
        self.counts.denied.add();
        Box::new(answer::denial(&self.limiter, decision, answer::grpc_type(head)))
    }

    /// The client's address by what the policy trusts (K3). Its bucket is sent for as soon as it is known.
    #[inline]
    fn client_address(&self, policy: &InForce<'_>, head: RequestHead<'_>) -> Option<IpAddr> {
        let (settings, peer) = (&policy.client_address, peer::of(head.extensions));
        let (is_unknown, is_client) = (peer.is_none(), settings.trust == Trust::Nobody);
        if is_client {
            policy.send_for(peer);
        }
        let found = client_address(settings, peer, &HeaderFields(head.headers));
        if !is_client {
            policy.send_for(found.address);
        }
        if is_unknown || found.ignored_forwarding_header {
            self.note_peer(settings, head);
        }
        found.address
    }

    /// Counts a peer that is unknown, or that names a client and is not believed.
    #[cold]
    fn note_peer(&self, settings: &ClientAddressSettings, head: RequestHead<'_>) {
        match peer::of(head.extensions) {
            Some(peer) => self.counts.untrusted_forwarding.add_and(|| {
                let (field, line) = (settings.header.field_name().into(), trust_line(settings, peer));
                self.warn(&Warning::UntrustedForwarding { peer, field, line });
            }),
            None => self.counts.without_peer.add_and(|| self.warn(&Warning::WithoutPeer)),
        }
    }

    /// What the request's token says, if it counts (K4).
    fn read_token(&self, policy: &InForce<'_>, fields: HeaderFields<'_>) -> Option<Box<Token>> {
        match self.tokens.read(&self.limiter, policy, fields) {
            Ok(token) => token,
            Err(Some(warning)) => {
                self.counts.refused_tokens.add_and(|| self.warn(&warning));
                None
            }
            Err(None) => {
                self.counts.refused_tokens.add();
                None
            }
        }
    }

    fn warn(&self, warning: &Warning) {
        (self.on_warning)(warning);
    }
}

/// Asks a shared ledger about a request.
#[cold]
fn ask(policy: InForce<'_>, facts: &Facts<'_>) -> Passage {
    Passage::Asked(Box::new(policy.decide(facts, Asking::Check)))
}
