//! Reservations that are admitted while the store's reply is late: one of the two settles each of them, exactly once.

use std::time::Duration;

use tollgate::ledger::{LedgerDown, SettleFault, TrueCosts};
use tollgate::policy::StoreSettings;
use tollgate::{Burst, Clock, Cost, Limit, Rate, ReservationId, SettleError, Span, StoreMode};
use tollgate_core::BreakerState;
use tollgate_redis::{SharedLimiter, SharedOptions, SharedRule};

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::SOON;

const LATE: Duration = Duration::from_millis(400);
const UNKNOWN: SettleFault = SettleFault::Refused(SettleError::Unknown);

/// A limiter behind a proxy, with a bucket of 10 of which 8 are spent.
struct Late {
    _server: RedisServer,
    proxy: FaultProxy,
    limiter: SharedLimiter,
    rule: SharedRule,
}

impl Late {
    async fn start(away_after: Span) -> Late {
        Late::with_deadline(Span::from_millis(50), away_after).await
    }

    async fn with_deadline(deadline: Span, away_after: Span) -> Late {
        let server = RedisServer::start("").await;
        let proxy = FaultProxy::before(server.port).await;
        let store =
            StoreSettings { deadline, away_after, instances_max: Some(1), ..StoreSettings::default() };
        let options = SharedOptions { store, ..SharedOptions::default() };
        let limiter = SharedLimiter::open_with(&proxy.url(), options).unwrap();
        let rule = limiter.rule("client", Limit::new(Rate::per_day(1), Burst::tokens(10)).unwrap()).unwrap();
        assert!(limiter.ready(SOON).await);
        let late = Late { _server: server, proxy, limiter, rule };
        assert_eq!(late.admitted(8).await, 8);
        late
    }

    async fn admitted(&self, checks: usize) -> usize {
        let mut admitted = 0;
        for _ in 0..checks {
            admitted += usize::from(self.rule.check("ann").await.is_admitted());
        }
        admitted
    }

    /// Reserves one while replies are late.
    async fn reserve(&self) -> ReservationId {
        self.proxy.set_latency(LATE);
        let charge = self.rule.charge("ann");
        let (answer, id) = self.limiter.reserve(&[charge], Span::from_secs(60)).await.unwrap();
        assert_eq!((answer.mode(), answer.is_admitted()), (StoreMode::Fallback, true));
        id.unwrap()
    }

    /// Replies are in time from now on, and the late ones have come.
    async fn recover(&self) {
        self.proxy.set_latency(Duration::ZERO);
        tokio::time::sleep(2 * LATE).await;
        let is_exact = || async {
            self.rule.peek("ann").await.mode() == StoreMode::Exact
                && self.limiter.ledger().counts().breaker == BreakerState::Closed
        };
        until("the store decides", SOON, is_exact).await;
    }

    async fn settle(&self, id: ReservationId, cost: u64) -> Result<u64, SettleFault> {
        let settled = self.limiter.settle(id, TrueCosts::Same(Cost::tokens(cost))).await;
        settled.map(|settled| settled.returned.whole())
    }

    /// Settles at the first cost, then at nothing; how many of 10 checks are admitted then.
    async fn settle_twice(&self, id: ReservationId, cost: u64) -> usize {
        assert_eq!(self.settle(id, cost).await, Ok(1 - cost));
        assert_eq!(self.settle(id, 0).await, Err(UNKNOWN), "it is settled");
        // The caller does not wait for the correction in the store.
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.admitted(10).await
    }
}

/// Late, but reachable; and so late that shares decide.
const REGIMES: [Span; 2] = [Span::from_secs(10), Span::from_millis(50)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_reservation_is_canceled_once() {
    needs_redis!();
    for away_after in REGIMES {
        let late = Late::start(away_after).await;
        let id = late.reserve().await;
        late.recover().await;
        assert_eq!(late.settle_twice(id, 0).await, 2, "{away_after:?}: 8 of 10 were spent");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committed_late_reservation_is_not_refunded() {
    needs_redis!();
    for away_after in REGIMES {
        let late = Late::start(away_after).await;
        let id = late.reserve().await;
        late.recover().await;
        assert_eq!(late.settle_twice(id, 1).await, 1, "{away_after:?}: 9 of 10 were spent");
    }
}

/// The store has the reservation by then, and this instance has not heard of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reservation_settled_before_its_reply_is_settled_once() {
    needs_redis!();
    for away_after in REGIMES {
        let late = Late::start(away_after).await;
        let id = late.reserve().await;
        assert_eq!(late.settle(id, 0).await, Ok(1));
        assert_eq!(late.settle(id, 0).await, Err(UNKNOWN), "{away_after:?}: before the reply");
        late.recover().await;
        assert_eq!(late.settle(id, 0).await, Err(UNKNOWN), "{away_after:?}: after the reply");
        assert_eq!(late.admitted(10).await, 2, "{away_after:?}: 8 of 10 were spent");
    }
}

/// Reading the record and settling it take two round trips.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settlement_waits_for_one_deadline() {
    needs_redis!();
    let late = Late::with_deadline(Span::from_secs(1), Span::from_secs(10)).await;
    let charge = late.rule.charge("ann");
    let (answer, id) = late.limiter.reserve(&[charge], Span::from_secs(60)).await.unwrap();
    assert_eq!((answer.mode(), answer.is_admitted()), (StoreMode::Exact, true));
    late.proxy.set_latency(Duration::from_millis(700));
    let clock = Clock::system();
    let begun = clock.now();
    assert_eq!(late.settle(id.unwrap(), 0).await, Err(SettleFault::Down(LedgerDown)));
    let waited = clock.now().since(begun);
    assert!(waited < Span::from_millis(1_300), "{waited}");
}
