//! Buckets in a map, on a clock that the test sets.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use std::collections::HashMap;

use tollgate_core::{Burst, Cost, Limit, Moment, Rate, Span, Stamped, StampedDecision, decide_stamped};
use tollgate_server::resp::{Answer, Ask, Described, Progress, Session, Throttle, Told};

/// Tokens that the policy of the table lets a client spend at once, and per minute.
const BURST: u64 = 3;

/// An engine, and how it was called.
pub(crate) struct Table {
    buckets: HashMap<Vec<u8>, Stamped>,
    pub(crate) now: Moment,
    /// How many asks came with each call.
    pub(crate) calls: Vec<usize>,
    /// Described requests that were decided.
    pub(crate) checks: usize,
}

impl Table {
    pub(crate) fn new() -> Self {
        // Some odd moment: nothing may depend on the clock's origin.
        let now = Moment::from_nanos(1_234_567_000_000_000);
        Table { buckets: HashMap::new(), now, calls: Vec::new(), checks: 0 }
    }

    fn decide(&mut self, ask: &Ask<'_>) -> Answer {
        let bucket = self.buckets.get(ask.key).copied();
        let cost = if ask.is_peek { Cost::micros(0) } else { ask.cost };
        match decide_stamped(&ask.limit, bucket, cost, self.now) {
            StampedDecision::Admit { bucket } => {
                if !ask.is_peek {
                    self.buckets.insert(ask.key.to_vec(), bucket);
                }
                Answer { is_admitted: true, remaining: bucket.balance, fallback: None }
            }
            StampedDecision::Deny { remaining, .. } => {
                Answer { is_admitted: false, remaining, fallback: None }
            }
            StampedDecision::Never => panic!("the door asks for no more than a bucket holds: {ask:?}"),
        }
    }
}

impl Throttle for Table {
    async fn throttle(&mut self, asks: &[Ask<'_>], answers: &mut Vec<Answer>) {
        self.calls.push(asks.len());
        assert!(answers.is_empty());
        for ask in asks {
            assert!(!ask.key.is_empty() && ask.key.len() <= 512);
            assert_eq!(ask.is_peek, ask.cost == Cost::micros(0));
            let answer = self.decide(ask);
            answers.push(answer);
        }
    }

    fn accept_check(&self, request: &Described<'_>) -> Result<(), String> {
        match request.ip {
            Some("home") => Err("`ip` is 'home'".to_owned()),
            _ => Ok(()),
        }
    }

    /// By a policy of one rule: `{name: client, scope: ip, rate: 3/m, burst: 3}`.
    async fn check(&mut self, request: &Described<'_>) -> Result<Told, String> {
        assert!(request.headers.len() <= 128);
        self.checks += 1;
        let limit = Limit::new(Rate::new(BURST, Span::from_secs(60)), Burst::tokens(BURST));
        let (Ok(limit), Some(ip)) = (limit, request.ip) else {
            return Ok(Told { is_admitted: true, status: 200, ..Told::default() });
        };
        // Beyond what `CL.THROTTLE` can name.
        let key = [b"client:".as_slice(), ip.as_bytes(), &[0; 512]].concat();
        let ask = Ask { key: &key, limit, cost: Cost::ONE, is_peek: request.is_peek, is_never: false };
        let Answer { is_admitted, remaining, .. } = self.decide(&ask);
        let is_admitted = is_admitted && !(request.is_peek && remaining < Cost::ONE.into());
        let until = |wanted: u64| {
            let missing = (wanted * 1_000_000).saturating_sub(remaining.as_micros());
            limit.time_to_mint(tollgate_core::Tokens::from_micros(missing)).as_nanos().div_ceil(1_000_000)
        };
        Ok(Told {
            is_admitted,
            status: if is_admitted { 200 } else { 429 },
            limit: Some(BURST),
            remaining: Some(remaining.whole()),
            retry_after_ms: (!is_admitted).then(|| until(1)),
            reset_after_ms: Some(until(BURST)),
            delay_ms: 0,
            reason: (!is_admitted).then(|| "token_bucket_exceeded".to_owned()),
            rule: Some("client".to_owned()),
            mode: Some("exact"),
        })
    }
}

/// [`Session::feed`] with an engine that waits for nobody.
pub(crate) fn feed(
    session: &mut Session,
    input: &[u8],
    engine: &mut (impl Throttle + Send),
    output: &mut Vec<u8>,
) -> Progress {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(session.feed(input, engine, output)).poll(&mut context) {
        Poll::Ready(progress) => progress,
        Poll::Pending => panic!("the engine waits"),
    }
}
