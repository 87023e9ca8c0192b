//! `/v1/reserve`: an estimate is charged at once, to be settled by `/v1/commit` or `/v1/cancel`.

use tollgate::ledger::{Ledger, Manner};
use tollgate::{Cost, ExplicitVerdict, ReservationId, ReserveError, Span, Verdict};

use super::answer::{Form, Told, millis_up};
use super::explicit::{self, Bucket, at_fault};
use super::problem::Problem;
use super::wire::RawCheck;
use super::{facts, number, wire_fault};
use crate::door::Door;
use crate::engine::Engine;

/// `POST /v1/reserve`. Where nothing was charged there is no reservation to settle.
pub(super) async fn reserve(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    let raw: RawCheck<'_> = wire_fault::read(body)?;
    for (field, is_given) in
        [("peek", raw.peek == Some(true)), ("idempotency_key", raw.idempotency_key.is_some())]
    {
        if is_given {
            let detail = format!("`{field}` is for /v1/check; drop it");
            return Err(Problem::field(field, detail));
        }
    }
    let timeout = number::timeout(raw.timeout_ms)?;
    if raw.explicit_field().is_some() {
        of_buckets(engine, &raw, timeout).await
    } else {
        of_facts(engine, &raw, timeout).await
    }
}

async fn of_facts(engine: &Engine, raw: &RawCheck<'_>, timeout: Span) -> Result<Told, Problem> {
    let limiter = &engine.limiter;
    let made = facts::with(engine, raw, |facts| limiter.policy().decide_and_reserve(facts, timeout))?;
    let (decision, reservation) = made.await.map_err(refused)?;
    if let Some(Verdict::Invalid(error)) = decision.verdict() {
        return Err(at_fault(error));
    }
    let now = limiter.limiter().now();
    engine.note_decision(Door::Http, &decision, now);
    engine.note_denial(Door::Http, &decision, now, || facts::asker(engine, raw));
    let told = facts::tell(engine, &decision, false, Form::Alone);
    Ok(match reservation {
        Some(reservation) => named(told, reservation, timeout),
        None => told,
    })
}

async fn of_buckets(engine: &Engine, raw: &RawCheck<'_>, timeout: Span) -> Result<Told, Problem> {
    let buckets = explicit::read(engine, raw)?;
    if let Some(ledger) = engine.limiter.ledger() {
        return of_ledger(engine, &**ledger, &buckets, timeout).await;
    }
    let explicit = engine.limiter.limiter().explicit();
    let (verdict, reservation) = match explicit.reserve(&explicit::charges(&explicit, &buckets), timeout) {
        Ok(reservation) => (reservation.verdict(), Some(reservation)),
        Err(ReserveError::Denied(verdict)) => (Some(verdict), None),
        Err(error) => return Err(refused(error)),
    };
    // A reservation that was just made has a verdict.
    let Some(verdict) = verdict else { return Err(Problem::unavailable("the reservation has no verdict")) };
    explicit::note_verdict(engine, &buckets, &verdict);
    let told = explicit::tell(engine, &buckets, &seen(engine, &buckets, verdict), Form::Alone)?;
    Ok(match reservation {
        Some(reservation) => named(told, reservation.id(), timeout),
        None => told,
    })
}

async fn of_ledger(
    engine: &Engine,
    ledger: &dyn Ledger,
    buckets: &[Bucket<'_>],
    timeout: Span,
) -> Result<Told, Problem> {
    let id = engine.limiter.new_reservation_id();
    let answer = ledger.decide(explicit::question(buckets, Manner::Reserve { id, timeout })?).await;
    let verdict = answer.explicit_verdict().map(|told| told.verdict);
    if let Some(verdict) = &verdict {
        explicit::note_verdict(engine, buckets, verdict);
    }
    let told = explicit::tell_answer(engine, buckets, &answer, Form::Alone)?;
    let is_made = verdict.is_some_and(|verdict| verdict.is_admitted());
    Ok(if is_made { named(told, id, timeout) } else { told })
}

/// The verdict with what the tightest bucket holds now.
fn seen(engine: &Engine, buckets: &[Bucket<'_>], verdict: Verdict) -> ExplicitVerdict {
    let explicit = engine.limiter.limiter().explicit();
    let looks = buckets.iter().map(|bucket| explicit.peek(bucket.key, &bucket.limit, Cost::micros(0)));
    let tightest =
        looks.enumerate().min_by_key(|(_, look)| (look.remaining, std::cmp::Reverse(look.time_to_full)));
    match tightest {
        Some((tightest, look)) => ExplicitVerdict { verdict, tightest, ..look },
        None => ExplicitVerdict {
            verdict,
            remaining: tollgate::Tokens::ZERO,
            time_to_full: Span::ZERO,
            tightest: 0,
        },
    }
}

fn named(told: Told, id: ReservationId, timeout: Span) -> Told {
    let id = format!("\"{id}\"");
    told.with("reservation", &id).with("timeout_ms", &millis_up(timeout).to_string())
}

fn refused(error: ReserveError) -> Problem {
    match error {
        ReserveError::Denied(Verdict::Invalid(error)) => at_fault(error),
        error @ ReserveError::ZeroTimeout => Problem::field("timeout_ms", error.to_string()),
        error => Problem::unavailable(error.to_string()),
    }
}
