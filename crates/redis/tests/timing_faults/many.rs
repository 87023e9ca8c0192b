//! Many buckets go back at once (F2): whoever asks is back within a second of the store's return and stays so, while the others follow in
//! the background.

use tollgate::policy::Facts;
use tollgate::{Asking, Clock, Decision, Span, StoreMode, Tokens};

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON};

/// Nothing is minted in the time of a test; every bucket has something to hand over. A deadline that a process which has to wait for its
/// processor meets.
const POLICY: &str = "{store: {deadline: 200ms, instances_max: 1}, rules: [{name: user, scope: user, rate: 1/d, burst: 1000}]}";
/// Clients that were there in the outage.
const MANY: usize = 20_000;
/// Of those, every so manieth asks after it.
const ACTIVE_EVERY: usize = 400;
/// How long they go on asking.
const WATCHED: Span = Span::from_secs(3);

async fn ask(instance: &Instance, user: usize, asking: Asking<'_>) -> Decision {
    let user = user.to_string();
    let facts = Facts { user: Some(&user), ..Facts::new("GET", "/") };
    instance.limiter.policy().decide(&facts, asking).await
}

/// One who asks after the return.
struct Client {
    user: usize,
    admitted: u64,
    exact_after: Option<Span>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_were_there_in_an_outage_whoever_asks_is_exact_within_a_second_of_the_return_and_stays_so()
 {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::begin(&proxy.url(), POLICY);
    assert!(instance.ledger.agreed(SOON).await);
    proxy.cut(true);
    // One more client, so that the store counts as unreachable.
    let is_away = || async { ask(&instance, MANY, Asking::Check).await.is_admitted() };
    until("the store counts as unreachable", SOON, is_away).await;
    for user in 0..MANY {
        assert!(ask(&instance, user, Asking::Check).await.is_admitted(), "{user}");
    }
    assert_eq!(instance.ledger.counts().local_buckets, MANY + 1);

    proxy.cut(false);
    proxy.hang_up();
    let clock = Clock::system();
    let returned = clock.now();
    let mut clients: Vec<Client> =
        (0..MANY).step_by(ACTIVE_EVERY).map(|user| Client { user, admitted: 1, exact_after: None }).collect();
    while clock.now().since(returned) < WATCHED {
        for client in &mut clients {
            let decision = ask(&instance, client.user, Asking::Check).await;
            client.admitted += u64::from(decision.is_admitted());
            let after = clock.now().since(returned);
            match (decision.mode(), client.exact_after) {
                (StoreMode::Exact, None) => client.exact_after = Some(after),
                (StoreMode::Exact, Some(_)) => {}
                (mode, None) => {
                    assert!(after < Span::from_secs(1), "{}: {mode:?} after {after:?}", client.user);
                }
                (mode, Some(since)) => {
                    panic!("{}: {mode:?} after {after:?}, exact since {since:?}", client.user)
                }
            }
        }
    }
    assert!(clients.iter().all(|client| client.exact_after.is_some()));
    // Nothing is charged twice, nor forgotten.
    for client in &clients {
        let left = left(&instance, client.user).await;
        assert_eq!(left, 1_000_u64.saturating_sub(client.admitted), "{}", client.user);
    }
    let all_back = || async { instance.ledger.counts().local_buckets == 0 };
    until("the others are back, too", 12 * SOON, all_back).await;
    for user in (1..MANY).step_by(ACTIVE_EVERY) {
        assert_eq!(left(&instance, user).await, 999, "{user}");
    }
}

/// Whole tokens that are left: those that a check would leave, and its own.
async fn left(instance: &Instance, user: usize) -> u64 {
    let peek = ask(instance, user, Asking::Peek).await;
    assert_eq!(peek.mode(), StoreMode::Exact);
    let left = instance.limiter.balances(&peek).next().map_or(0, Tokens::whole);
    left + u64::from(peek.is_admitted())
}
