//! Every check asks the store.

use tollgate_sim::checker::Promise;

use crate::crew::Crew;
use crate::fleet::RedisServer;
use crate::load::{Load, Mode, seconds};
use crate::worker::{self, Orders};

/// Hammers, and expects the promise to be kept and nothing to be wasted.
pub(crate) fn hammered(test: &str, loads: &[Load], skews: [i64; 4]) {
    if let Some(orders) = Orders::given() {
        return worker::run(&orders);
    }
    needs_redis!();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(RedisServer::start(""));
    let hauls = Crew::start(test, &server.url(), loads, skews).hammer(|_, _| {});
    for (haul, load) in hauls.iter().zip(loads) {
        haul.assert_kept(&Promise::of(load.limit()));
        haul.assert_used(haul.there());
    }
}

/// Of the ten thousand each has a token every four seconds: whoever is asked twice in that time wastes nothing.
#[test]
fn one_key_ten_and_ten_thousand_are_kept_within_their_limits_and_used_up() {
    let load = |keys, rate, burst| Load { mode: Mode::Exact, keys, rate, burst, seconds: seconds(10) };
    let loads = [load(1, (1_000, 1), 200), load(10, (100, 1), 50), load(10_000, (1, 4), 2)];
    let test = "exact::one_key_ten_and_ten_thousand_are_kept_within_their_limits_and_used_up";
    hammered(test, &loads, [0; 4]);
}
