//! Buckets whose limits come with the call: rate and burst stand in the request.

use std::time::Duration;

use smallvec::SmallVec;
use tollgate::{
    Algorithm, Answering, CHARGES_MAX, CheckError, Cost, Explicit, ExplicitCharge, ExplicitVerdict, Limit,
    Outcome, Span, Standing, Verdict, Violation,
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
pub(super) fn decide(
    engine: &Engine,
    raw: &RawCheck<'_>,
    is_peek: bool,
    form: Form,
) -> Result<Told, Problem> {
    let buckets = read(raw)?;
    let limiter = engine.limiter.limiter();
    let explicit = limiter.explicit();
    let begun = limiter.now();
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
        engine.metrics.note_duration(Door::Http, begun, limiter.now());
        engine.metrics.checks.note_explicit(Door::Http, Became::of(&told.verdict), 1);
    }
    tell(engine, &buckets, &told, form)
}

/// The buckets of a check.
pub(super) fn read<'b>(raw: &'b RawCheck<'_>) -> Result<Buckets<'b>, Problem> {
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

/// What is to be told of a verdict on these buckets.
pub(super) fn tell(
    engine: &Engine,
    buckets: &[Bucket<'_>],
    told: &ExplicitVerdict,
    form: Form,
) -> Result<Told, Problem> {
    let policy = engine.limiter.policy();
    let settings = &policy.answers;
    let now = if settings.headers.x { engine.limiter.wall_time() } else { Duration::ZERO };
    let algorithms: SmallVec<[Algorithm; 1]> = buckets.iter().map(|bucket| bucket.limit.into()).collect();
    let at = told.tightest.min(buckets.len().saturating_sub(1));
    let tightest = buckets.get(at).zip(algorithms.get(at)).map(|(bucket, algorithm)| {
        Standing::new(bucket.key, SCOPE, algorithm, told.remaining, now).full_again_in(told.time_to_full)
    });
    let explicit = engine.limiter.limiter().explicit();
    let mut violated = SmallVec::<[Violation<'_>; 1]>::new();
    if let Verdict::Deny { denied, .. } | Verdict::Never { denied } = told.verdict {
        let those = buckets.iter().zip(&algorithms).enumerate().filter(|(at, _)| denied.contains(*at));
        violated.extend(those.map(|(_, (bucket, algorithm))| {
            // Of one bucket everything is known.
            let seen = match buckets {
                [_] => *told,
                _ => explicit.peek(bucket.key, &bucket.limit, bucket.cost),
            };
            let wait = if let Verdict::Deny { wait, .. } = seen.verdict { wait } else { Span::ZERO };
            let standing = Standing::new(bucket.key, SCOPE, algorithm, seen.remaining, now);
            Violation::new(standing.full_again_in(seen.time_to_full), wait)
        }));
    }
    let outcome = match told.verdict {
        Verdict::Admit { .. } => Outcome::Admitted { tightest },
        Verdict::Deny { wait, cause, .. } => Outcome::Denied { wait, cause, violated: &violated },
        Verdict::Never { .. } => Outcome::Never { violated: &violated },
        Verdict::Invalid(error) => return Err(at_fault(error)),
    };
    let client = buckets.first().map_or(&[][..], |bucket| bucket.key.as_bytes());
    Ok(Told::of(&Answering::new(settings, outcome, client, now), None, Span::ZERO, form))
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
    match said.split('`').nth(1) {
        Some(field) => Problem::field(field, said.clone()),
        None => Problem::bad(said),
    }
}
