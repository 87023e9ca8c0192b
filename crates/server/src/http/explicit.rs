//! Buckets whose limits come with the call: rate and burst stand in the request.

use std::time::Duration;

use smallvec::SmallVec;
use tollgate::ledger::{self, Answer, BucketLimit, BucketState, LedgerCharge, Manner, OwnedKey, Question};
use tollgate::{
    Algorithm, Answering, CHARGES_MAX, CheckError, Cost, Explicit, ExplicitCharge, ExplicitVerdict, Limit,
    Moment, Outcome, Span, Standing, StoreMode, Verdict, Violation,
};

use super::answer::{Form, Told};
use super::check::IDEMPOTENCY_LIFETIME;
use super::number;
use super::problem::Problem;
use super::wire::{Object, RawBucket, RawCheck, Text};
use crate::door::Door;
use crate::engine::Engine;
use crate::metrics::Became;

/// What explicit buckets are about, in answers.
const SCOPE: &str = "explicit";

/// One bucket and what is asked of it.
#[derive(Debug)]
pub(super) struct Bucket<'b> {
    pub(super) key: &'b str,
    pub(super) limit: Limit,
    pub(super) cost: Cost,
}

pub(super) type Buckets<'b> = SmallVec<[Bucket<'b>; 1]>;
pub(super) type Charges = SmallVec<[ExplicitCharge; 1]>;

/// Decides a check over explicit buckets.
pub(super) async fn decide(
    engine: &Engine,
    raw: &RawCheck<'_>,
    is_peek: bool,
    form: Form,
) -> Result<Told, Problem> {
    let buckets = read(engine, raw)?;
    let limiter = engine.limiter.limiter();
    let begun = limiter.now();
    if let Some(ledger) = engine.limiter.ledger() {
        let manner = match &raw.idempotency_key {
            _ if is_peek => Manner::Peek,
            Some(once) => Manner::Once {
                idempotency_key: OwnedKey::new(once.as_str())
                    .map_err(|error| at_fault(once_at_fault(error)))?,
                lifetime: IDEMPOTENCY_LIFETIME,
            },
            None => Manner::Check,
        };
        let answer = ledger.decide(question(&buckets, manner)?).await;
        if !is_peek {
            note(engine, begun, &buckets, answer.explicit_verdict().as_ref());
        }
        return tell_answer(engine, &buckets, &answer, form);
    }
    let explicit = limiter.explicit();
    let told = match (&*buckets, &raw.idempotency_key) {
        ([Bucket { key, limit, cost }], _) if is_peek => explicit.peek(*key, limit, *cost),
        ([Bucket { key, limit, cost }], None) => explicit.check(*key, limit, *cost),
        (several, _) if is_peek => explicit.peek_all(&charges(&explicit, several)),
        (several, None) => explicit.check_all(&charges(&explicit, several)),
        (several, Some(once)) => {
            explicit.check_once(once.as_str(), IDEMPOTENCY_LIFETIME, &charges(&explicit, several))
        }
    };
    if !is_peek {
        note(engine, begun, &buckets, Some(&told));
    }
    tell(engine, &buckets, &told, form)
}

/// Counts a check.
fn note(engine: &Engine, begun: Moment, buckets: &[Bucket<'_>], told: Option<&ExplicitVerdict>) {
    engine.metrics.note_duration(Door::Http, begun, engine.limiter.limiter().now());
    if let Some(told) = told {
        note_verdict(engine, buckets, &told.verdict);
    }
}

/// Counts a verdict, and puts denials on record.
pub(super) fn note_verdict(engine: &Engine, buckets: &[Bucket<'_>], verdict: &Verdict) {
    engine.metrics.checks.note_explicit(Door::Http, Became::of(verdict), 1);
    engine.metrics.checks.note_explicit_table_full(std::iter::once(verdict));
    let (denied, remaining) = match verdict {
        Verdict::Deny { denied, remaining, .. } => (denied, Some(*remaining)),
        Verdict::Never { denied } => (denied, None),
        Verdict::Admit { .. } | Verdict::Invalid(_) => return,
    };
    let now = engine.limiter.limiter().now();
    for (_, bucket) in buckets.iter().enumerate().filter(|(at, _)| denied.contains(*at)) {
        engine.note_explicit_denial(Door::Http, bucket.key.as_bytes(), bucket.cost, remaining, now);
    }
}

/// What is asked of a shared ledger.
pub(super) fn question(buckets: &[Bucket<'_>], manner: Manner) -> Result<Question, Problem> {
    let charge = |bucket: &Bucket<'_>| -> Result<LedgerCharge, Problem> {
        Ok(LedgerCharge { bucket: in_ledger(bucket)?, cost: bucket.cost })
    };
    let charges = buckets.iter().map(charge).collect::<Result<_, _>>()?;
    Ok(Question { charges, manner, watched: None })
}

/// A bucket as a shared ledger knows it.
pub(super) fn in_ledger(bucket: &Bucket<'_>) -> Result<ledger::Bucket, Problem> {
    let key = OwnedKey::new(bucket.key).map_err(at_fault)?;
    Ok(ledger::Bucket { limit: BucketLimit::Explicit(bucket.limit), key })
}

fn once_at_fault(error: CheckError) -> CheckError {
    if error == CheckError::EmptyKey { CheckError::EmptyIdempotencyKey } else { error }
}

/// What is to be told of a shared ledger's answer about these buckets.
pub(super) fn tell_answer(
    engine: &Engine,
    buckets: &[Bucket<'_>],
    answer: &Answer,
    form: Form,
) -> Result<Told, Problem> {
    match (answer, answer.explicit_verdict()) {
        (Answer::Decided { buckets: states, mode, .. }, Some(told)) => {
            tell_seen(engine, buckets, &told, form, *mode, |at| states.get(at).copied())
        }
        (Answer::Unavailable { wait }, _) => {
            let policy = engine.limiter.policy();
            let client = buckets.first().map_or(&[][..], |bucket| bucket.key.as_bytes());
            let outcome = Outcome::Unavailable { wait: *wait };
            let answering = Answering::new(&policy.answers, outcome, client, engine.limiter.wall_time());
            Ok(Told::of(&answering, None, Span::ZERO, form))
        }
        (Answer::Decided { .. }, None) => Err(Problem::unavailable("the check has no verdict")),
    }
}

/// The buckets of a check, under limits that can be kept.
pub(super) fn read<'b>(engine: &Engine, raw: &'b RawCheck<'_>) -> Result<Buckets<'b>, Problem> {
    let buckets = as_given(raw)?;
    if let Some(ledger) = engine.limiter.ledger() {
        for (at, bucket) in buckets.iter().enumerate() {
            let kept = ledger.accept(&bucket.limit);
            kept.map_err(|refused| match said_of(refused.to_string()) {
                problem if raw.buckets.is_some() => problem.within(&format!("buckets[{at}]")),
                problem => problem,
            })?;
        }
    }
    Ok(buckets)
}

fn as_given<'b>(raw: &'b RawCheck<'_>) -> Result<Buckets<'b>, Problem> {
    if let Some(field) = raw.facts_field() {
        let detail = format!("`{field}` describes a request, but buckets are given; give one or the other");
        return Err(Problem::field(field, detail));
    }
    let Some(list) = &raw.buckets else {
        let RawCheck { key, rate, burst, cost, .. } = raw;
        return bucket(key.as_ref().map(Text::as_str), *rate, *burst, *cost)
            .map(|bucket| SmallVec::from_iter([bucket]));
    };
    for (field, is_given) in [
        ("key", raw.key.is_some()),
        ("rate", raw.rate.is_some()),
        ("burst", raw.burst.is_some()),
        ("cost", raw.cost.is_some()),
    ] {
        if is_given {
            let detail = format!("`{field}` stands beside `buckets`; give it in each of them");
            return Err(Problem::field(field, detail));
        }
    }
    if list.is_empty() || list.len() > CHARGES_MAX {
        let detail = format!("`buckets` has {} entries; use 1 to {CHARGES_MAX}", list.len());
        return Err(Problem::field("buckets", detail));
    }
    let read = |(at, Object(raw)): (usize, &'b Object<RawBucket<'_>>)| {
        let RawBucket { key, rate, burst, cost } = raw;
        bucket(key.as_ref().map(Text::as_str), *rate, *burst, *cost)
            .map_err(|problem| problem.within(&format!("buckets[{at}]")))
    };
    list.iter().enumerate().map(read).collect()
}

fn bucket(
    key: Option<&str>,
    rate: Option<f64>,
    burst: Option<f64>,
    cost: Option<f64>,
) -> Result<Bucket<'_>, Problem> {
    let key = key.ok_or_else(|| number::missing("key", "whose bucket it is, as in \"user:42\""))?;
    Ok(Bucket { key, limit: number::limit(rate, burst)?, cost: number::cost(cost)? })
}

pub(super) fn charges(explicit: &Explicit<'_>, buckets: &[Bucket<'_>]) -> Charges {
    buckets.iter().map(|bucket| explicit.charge(bucket.key, &bucket.limit, bucket.cost)).collect()
}

/// What is to be told of a verdict on these buckets, in memory.
pub(super) fn tell(
    engine: &Engine,
    buckets: &[Bucket<'_>],
    told: &ExplicitVerdict,
    form: Form,
) -> Result<Told, Problem> {
    let explicit = engine.limiter.limiter().explicit();
    tell_seen(engine, buckets, told, form, StoreMode::Exact, |at| {
        // Of one bucket everything is known.
        let seen = match buckets {
            [_] => *told,
            _ => buckets.get(at).map(|bucket| explicit.peek(bucket.key, &bucket.limit, bucket.cost))?,
        };
        let wait = if let Verdict::Deny { wait, .. } = seen.verdict { wait } else { Span::ZERO };
        Some(BucketState { remaining: seen.remaining, wait, time_to_full: seen.time_to_full, instances: 1 })
    })
}

/// The same, where `see` says how a bucket that denied stands.
fn tell_seen(
    engine: &Engine,
    buckets: &[Bucket<'_>],
    told: &ExplicitVerdict,
    form: Form,
    mode: StoreMode,
    see: impl Fn(usize) -> Option<BucketState>,
) -> Result<Told, Problem> {
    let policy = engine.limiter.policy();
    let settings = &policy.answers;
    let now = if settings.headers.x { engine.limiter.wall_time() } else { Duration::ZERO };
    let algorithms: SmallVec<[Algorithm; 1]> = buckets.iter().map(|bucket| bucket.limit.into()).collect();
    let at = told.tightest.min(buckets.len().saturating_sub(1));
    let share = Some(at).filter(|_| mode == StoreMode::Fallback).and_then(&see);
    let tightest = buckets.get(at).zip(algorithms.get(at)).map(|(bucket, algorithm)| {
        let standing = Standing::new(bucket.key, SCOPE, algorithm, told.remaining, now);
        standing.full_again_in(told.time_to_full).among(share.map_or(1, |share| share.instances))
    });
    let mut violated = SmallVec::<[Violation<'_>; 1]>::new();
    if let Verdict::Deny { denied, .. } | Verdict::Never { denied } = told.verdict {
        let those = buckets.iter().zip(&algorithms).enumerate().filter(|(at, _)| denied.contains(*at));
        violated.extend(those.filter_map(|(at, (bucket, algorithm))| {
            let BucketState { remaining, wait, time_to_full, instances } = see(at)?;
            let standing = Standing::new(bucket.key, SCOPE, algorithm, remaining, now).among(instances);
            Some(Violation::new(standing.full_again_in(time_to_full), wait))
        }));
    }
    let outcome = match told.verdict {
        Verdict::Admit { .. } => Outcome::Admitted { tightest },
        Verdict::Deny { wait, cause, .. } => Outcome::Denied { wait, cause, violated: &violated },
        Verdict::Never { .. } => Outcome::Never { violated: &violated },
        Verdict::Invalid(error) => return Err(at_fault(error)),
    };
    let client = buckets.first().map_or(&[][..], |bucket| bucket.key.as_bytes());
    let answering = Answering::new(settings, outcome, client, now).in_mode(mode);
    Ok(Told::of(&answering, None, Span::ZERO, form))
}

/// A check that makes no sense.
pub(super) fn at_fault(error: CheckError) -> Problem {
    let said = match error {
        CheckError::EmptyKey => "`key` is empty; give the client's identity, as in \"user:42\"".to_owned(),
        CheckError::EmptyIdempotencyKey => {
            "`idempotency_key` is empty; give one for each thing that is to be charged once, or leave it out"
                .to_owned()
        }
        error => error.to_string(),
    };
    said_of(said)
}

/// What is wrong with the field that it names first.
fn said_of(said: String) -> Problem {
    match said.split('`').nth(1) {
        Some(field) => Problem::field(field, said.clone()),
        None => Problem::bad(said),
    }
}
