//! What happens to a meter between checks: it is stored in words, carried onto another clock, or given the same limit.

use std::ops::Range;

use tollgate_core::{Meter, Moment, Ruler, Span};
use tollgate_sim::seeds::{Rng, for_each_seed};

use super::any_limit::{any_limit, any_pause};

/// A balance outlives storing and restarting, whenever it is looked at afterwards.
pub(crate) fn keep_every_balance(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (meter, now) = any_meter(rng);
        let ruler = Ruler::from(meter);
        assert_eq!(Ruler::from_words(ruler.words()), ruler);
        assert_eq!(Ruler::try_from_words(ruler.words()), Some(ruler));

        let restarted = Moment::from_nanos(rng.u64(..) >> 4);
        let carried = meter.transplant(now, restarted, 0);
        let level = meter.level(now);
        let balance = rng.i64(0..=level.balance(level.full_mark()));
        let mark = level.mark_of(balance);
        for _ in 0..20 {
            let later = any_pause(rng, meter.limit());
            assert_eq!(carried.level(restarted + later), meter.level(now + later));
            assert_eq!(carried.wait_for(7, restarted + later), meter.wait_for(7, now + later));
        }
        assert_eq!(carried.level(restarted).balance(mark), balance);
    });
}

/// A meter that was changed a few times, and the moment of the last change or a little later.
fn any_meter(rng: &mut Rng) -> (Meter, Moment) {
    let mut now = Moment::from_nanos(rng.u64(..) >> 4);
    let mut meter = Meter::new(any_limit(rng), now, rng.u64(..));
    for _ in 0..rng.usize(0..5) {
        now = now + any_pause(rng, meter.limit());
        meter = meter.change(any_limit(rng), now);
    }
    (meter, now + Span::from_nanos(rng.u64(0..1_000_000)))
}
