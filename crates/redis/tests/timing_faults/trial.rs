//! One fault under traffic, beside the same traffic without a fault: what is promised of both.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use tollgate_core::{Moment, Span};

use crate::asked::{Asked, EVERYTHING, Kept};
use crate::report::Report;
use crate::traffic::{DEADLINE, Traffic};

/// Beyond the deadline so much later may answers be than without the fault.
const LATER_MAX: Span = Span::from_millis(5);
/// The store decides again so soon after its return.
const RECOVERY_MAX: Span = Span::from_secs(1);
/// Traffic before a fault, and after it.
const BEFORE: Duration = Duration::from_millis(1_500);
const AFTER: Duration = Duration::from_millis(2_500);
/// Traffic without any fault.
const WITHOUT: Duration = Duration::from_secs(4);

/// What the store may have lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Nothing.
    Kept,
    /// All of it, or what was not replicated: a burst more.
    Lost,
}

/// By what the store is reached: traffic without a fault is measured once for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Straight,
    ThroughAProxy,
    BySentinels,
    ToACluster,
}

/// Lets traffic go, does something to the store, which returns when the store was back, and expects what is promised.
pub(crate) async fn survives(
    name: &str,
    (way, url): (Way, &str),
    memory: Memory,
    fault: impl Future<Output = Moment>,
) {
    let usual = usual(way, url).await;
    let traffic = Traffic::begin(url);
    tokio::time::sleep(BEFORE).await;
    let returned = fault.await;
    tokio::time::sleep(AFTER).await;
    let report = Report::new(traffic.end());
    report.print(name, Some(returned));
    report.assert_measured(name);

    for asked in EVERYTHING.into_iter().filter(|asked| *asked != Asked::Closed) {
        assert_eq!(report.refused(asked), 0, "{name}: no error reaches a client that asks for {asked:?}");
    }
    let latest = usual + DEADLINE + LATER_MAX;
    let (p999, worst) = (report.p999(), report.latest());
    assert!(p999 <= latest, "{name}: p99.9 is {p999}, without the fault {usual}:{worst}");
    for asked in EVERYTHING {
        let back = report.recovery(asked, returned);
        assert!(back <= RECOVERY_MAX, "{name}: {asked:?} is back {back} after the store");
    }
    assert_kept(name, &report, memory);
}

/// What was admitted too much is within its bound; and a rule that is closed admits nobody without the store.
fn assert_kept(name: &str, report: &Report, memory: Memory) {
    for (asked, kept) in
        EVERYTHING.into_iter().flat_map(|asked| asked.kept().into_iter().map(move |kept| (asked, kept)))
    {
        let (excess, bound) = (report.excess(asked, &kept), bound(asked, &kept, memory, report));
        assert!(
            excess <= bound,
            "{name}: {asked:?} admitted {excess} micro-tokens too much, at most {bound} may be: {kept:?}"
        );
    }
    let closed = Asked::Closed;
    assert_eq!(
        report.refused(closed),
        report.fallbacks(closed),
        "{name}: whoever is not decided by the store is refused"
    );
    assert_eq!(report.admitted_without(closed), 0, "{name}");
}

/// What may be admitted too much, in micro-tokens: docs/decisions/0022. Slices that are out count against the burst, so a lease adds nothing.
fn bound(asked: Asked, kept: &Kept, memory: Memory, report: &Report) -> i128 {
    let burst = i128::from(kept.limit.burst().as_micros());
    let lost = if memory == Memory::Lost { burst } else { 0 };
    match asked {
        // Whatever is asked meanwhile, and nothing else.
        Asked::Open => lost + report.admitted_without(asked),
        Asked::Closed => lost,
        Asked::Local | Asked::Leased | Asked::Explicit | Asked::Several => {
            lost + burst + i128::from(kept.limit.minted_in(Span::from_secs(1)).as_micros())
        }
    }
}

/// How late one in a thousand answers is without a fault.
async fn usual(way: Way, url: &str) -> Span {
    static KNOWN: Mutex<BTreeMap<Way, Span>> = Mutex::new(BTreeMap::new());
    if let Some(known) = KNOWN.lock().unwrap().get(&way).copied() {
        return known;
    }
    let traffic = Traffic::begin(url);
    tokio::time::sleep(WITHOUT).await;
    let report = Report::new(traffic.end());
    report.print(&format!("no fault, {way:?}"), None);
    report.assert_measured("no fault");
    assert_kept("no fault", &report, Memory::Kept);
    KNOWN.lock().unwrap().insert(way, report.p999());
    report.p999()
}

/// How long a fault lasts: as said, or `TOLLGATE_SOAK_SECONDS` longer.
pub(crate) async fn lasts(usually: Duration) {
    let longer = std::env::var("TOLLGATE_SOAK_SECONDS").map_or(0, |seconds| seconds.parse().unwrap());
    tokio::time::sleep(usually + Duration::from_secs(longer)).await;
}
