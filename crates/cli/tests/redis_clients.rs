//! The RESP door with the clients that people have: redis-cli, redis-benchmark, redis-py, ioredis and redis-rs. The real binary, real
//! sockets, the real libraries.
//!
//! `cargo xtask test setup` brings them; one that is missing fails its tests, `TOLLGATE_SKIP=redis-tools,redis-py,ioredis` leaves them
//! out by name.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "redis_clients/client.rs"]
mod client;
#[path = "deployment/component.rs"]
mod component;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "redis_clients/promises.rs"]
mod promises;
#[path = "redis_clients/redis_rs.rs"]
mod redis_rs;
#[path = "redis_clients/redis_tools.rs"]
mod redis_tools;
#[path = "redis_clients/server.rs"]
mod server;

/// Every promise, as a test of every library.
macro_rules! libraries_rely_on {
    ($($promise:ident),* $(,)?) => {
        libraries_rely_on!(@library with_redis_py crate::client::RedisPy; $($promise)*);
        libraries_rely_on!(@library with_ioredis crate::client::Ioredis; $($promise)*);
        libraries_rely_on!(@library with_redis_rs crate::redis_rs::RedisRs; $($promise)*);
    };
    (@library $name:ident $library:ty; $($promise:ident)*) => {
        mod $name {
            use crate::client::Client;

            $(
                #[test]
                fn $promise() {
                    if !crate::component::is_skipped(<$library>::COMPONENT) {
                        crate::promises::$promise::<$library>();
                    }
                }
            )*
        }
    };
}

libraries_rely_on!(
    connects_in_both_protocols,
    throttles_until_denied,
    a_password_is_asked_for,
    pipelines_of_thousands_are_answered_in_order,
    transactions_charge_each_command_once,
    an_error_reply_is_an_error,
    the_policy_decides_a_described_request,
    the_server_tells_of_itself,
    quit_ends_the_connection_alone,
    a_restart_is_survived,
);
