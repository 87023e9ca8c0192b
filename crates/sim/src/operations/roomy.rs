//! A table with room for all: the limiter must answer every operation exactly as the reference does.

use tollgate::{Crowding, Limiter};
use tollgate_core::{Burst, Cost, Moment, Rate, Span};

use super::{Decoder, OPERATIONS_MAX, Operation};
use crate::conformance::{Breadth, Charge, Reference, START, Subject};
use crate::memory_subject::MemorySubject;

/// Room for 50 times as many keys as an input can name, so that none meets the crowding rule.
const KEYS: usize = 200_000;
/// Rules and tiers that an input may declare.
const LIMITS_MAX: usize = 12;

pub(super) fn run(decoder: &mut Decoder<'_>) {
    let crowding =
        [Crowding::Inherit, Crowding::DenyNew, Crowding::SharedOverflow][usize::from(decoder.byte() % 3)];
    let [earliest, latest] = ends_of_time(crowding);
    let settings = Limiter::builder().keys_max(KEYS).crowding(crowding);
    let Ok(mut subject) = MemorySubject::new(settings) else { return };
    let (mut reference, mut limits, mut now) = (Reference::new(), 0, START);
    for _ in 0..OPERATIONS_MAX {
        if limits == 0 {
            let Ok(limit) = decoder.limit() else { return };
            reference.rule("0", Breadth::Client, limit, now);
            subject.rule("0", Breadth::Client, limit, now);
            limits = 1;
        }
        let Some(operation) = decoder.operation(limits) else { return };
        match operation {
            Operation::Rule(breadth, Ok(limit)) if limits < LIMITS_MAX => {
                let breadth = [Breadth::Client, Breadth::Group, Breadth::Everyone][usize::from(breadth)];
                let name = limits.to_string();
                assert_eq!(
                    subject.rule(&name, breadth, limit, now),
                    reference.rule(&name, breadth, limit, now)
                );
                limits += 1;
            }
            Operation::Tier(of, Ok(limit)) if limits < LIMITS_MAX => {
                let name = limits.to_string();
                assert_eq!(subject.tier(of, &name, limit, now), reference.tier(of, &name, limit, now));
                limits += 1;
            }
            Operation::Rule(..) | Operation::Tier(..) => {}
            Operation::SetLimit(rule, Ok(limit)) => {
                subject.set_limit(rule, limit, now);
                reference.set_limit(rule, limit, now);
            }
            // Every error must be able to say what is wrong.
            Operation::SetLimit(_, Err(error)) => assert!(!error.to_string().is_empty()),
            Operation::Forward(span) => now = (now + span).min(latest),
            Operation::Back(span) => now = (now - span).max(earliest),
            Operation::Peek(charge) => {
                agree(&charge, &subject.peek(&charge, now), &reference.peek(&charge, now));
            }
            Operation::Check(charge) => {
                agree(&charge, &subject.check(&charge, now), &reference.check(&charge, now));
            }
            Operation::CheckAll(charges) => {
                let charges = without_conflicts(&reference, charges);
                agree(&charges, &subject.check_all(&charges, now), &reference.check_all(&charges, now));
            }
            Operation::CheckEach(charges) => {
                agree(&charges, &subject.check_each(&charges, now), &reference.check_each(&charges, now));
            }
            Operation::Float(bits) => read_float(f64::from_bits(bits)),
        }
    }
}

/// How far time may go. The shared overflow bucket of a rule is nobody's own and may lie idle until its meter has lapped it
/// (2^64 micro-tokens: 5 hours at 10^9 per second). It then looks empty, and with it every newcomer.
fn ends_of_time(crowding: Crowding) -> [Moment; 2] {
    match crowding {
        Crowding::SharedOverflow => [START - Span::from_secs(2_000), START + Span::from_secs(2_000)],
        Crowding::Inherit | Crowding::DenyNew => [Moment::from_nanos(0), Moment::from_nanos(u64::MAX)],
    }
}

/// Without charges that want one bucket under two tiers: those are refused, but may leave a bucket under either tier.
fn without_conflicts(reference: &Reference, charges: Vec<Charge>) -> Vec<Charge> {
    let mut kept: Vec<Charge> = Vec::new();
    for charge in charges {
        if !kept.iter().any(|other| reference.disagree(other, &charge)) {
            kept.push(charge);
        }
    }
    kept
}

#[track_caller]
fn agree<T: PartialEq + std::fmt::Debug>(what: &impl std::fmt::Debug, found: &T, expected: &T) {
    assert_eq!(found, expected, "the store (left) and the reference (right) disagree on {what:?}");
}

/// A float is an amount or is refused; either way with words and without a panic.
fn read_float(value: f64) {
    let said = [
        Rate::try_from(value).map_or_else(|error| error.to_string(), |rate| rate.to_string()),
        Burst::try_from(value).map_or_else(|error| error.to_string(), |burst| burst.to_string()),
        Cost::try_from(value).map_or_else(|error| error.to_string(), |cost| cost.to_string()),
    ];
    assert!(said.iter().all(|text| !text.is_empty()));
}
