//! Many checks in one call are what they would be one by one.

use tollgate::{Cost, ExplicitVerdict, Span};
use tollgate_sim::seeds::for_each_seed;

use super::world::{per_second, roomy};

#[test]
fn a_batch_of_thousands_is_told_what_it_would_be_told_one_by_one() {
    for_each_seed(0..20, |rng| {
        let ((one, clock), (other, other_clock)) = (roomy(), roomy());
        let limits = [per_second(1, 3), per_second(10, 5), per_second(1_000, 20)];
        let mut verdicts = Vec::new();
        for _ in 0..10 {
            let checks: Vec<_> = (0..rng.usize(0..2_000))
                .map(|_| (rng.u32(0..300), Cost::micros(rng.u64(1..4_000_000))))
                // Each key under one limit: which of the full ones is forgotten is up to the table's secret, and a forgotten one is
                // full by whatever limit comes next.
                .map(|(key, cost)| (key, limits[key as usize % limits.len()], cost))
                .collect();
            let explicit = one.explicit();
            let charges: Vec<_> =
                checks.iter().map(|(key, limit, cost)| explicit.charge(*key, limit, *cost)).collect();
            explicit.check_each(&charges, &mut verdicts);
            let single = other.explicit();
            let expected: Vec<ExplicitVerdict> =
                checks.iter().map(|(key, limit, cost)| single.check(*key, limit, *cost)).collect();
            assert_eq!(verdicts, expected);
            let pause = Span::from_millis(rng.u64(0..500));
            clock.advance(pause);
            other_clock.advance(pause);
        }
    });
}

#[test]
fn one_key_many_times_in_a_batch_is_charged_in_order() {
    let (limiter, _) = roomy();
    let explicit = limiter.explicit();
    let charges = [explicit.charge("a", &per_second(1, 3), Cost::ONE); 5];
    let mut verdicts = Vec::new();
    explicit.check_each(&charges, &mut verdicts);
    let admitted: Vec<bool> = verdicts.iter().map(ExplicitVerdict::is_admitted).collect();
    assert_eq!(admitted, [true, true, true, false, false]);
}
