//! The reference: a token bucket as people write it in Lua, one `EVALSHA` for each bucket, pipelined by sixteen on fifty connections.

use super::store::Store;
use super::traffic::{ADDRESSES, ENDPOINTS};
use crate::problem::Problem;
use crate::server_suite::{Dialect, Generator};

const CONNECTIONS: usize = 50;
const SEED: u64 = 0x5C21_97E0;
/// Calls of the script under way on each connection.
const PIPELINE: u32 = 16;

/// A hash of balance and time, filled by the server's clock.
const SCRIPT: &str = r"
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local burst, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(state[1]) or burst, tonumber(state[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * rate)
local denied = 1
if tokens >= 1 then tokens = tokens - 1; denied = 0 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('EXPIRE', KEYS[1], math.ceil(burst / rate))
return {denied, math.floor(tokens)}
";

/// Connections that call the script.
pub(crate) struct PlainScript {
    generator: Generator,
    pipeline: u32,
}

impl PlainScript {
    /// Checks of one bucket, or of four one after the other. Users are drawn from the first `users`.
    pub(crate) fn connect(store: &mut Store, buckets: u32, users: u32) -> Result<PlainScript, Problem> {
        let spread = if buckets == 1 { [users, 0, 0, 0] } else { [users, ADDRESSES, ENDPOINTS, 1] };
        let dialect = Dialect::Buckets { sha: store.load(SCRIPT)?, spread };
        let generator = Generator::connect(store.address(), dialect, CONNECTIONS, users, SEED)?;
        Ok(PlainScript { generator, pipeline: PIPELINE / buckets })
    }

    /// Checks per second, for so long.
    pub(crate) fn run(&mut self, length: std::time::Duration) -> Result<f64, Problem> {
        let run = self.generator.closed_loop(self.pipeline, length)?;
        if run.errors + run.denied > 0 {
            let (denied, errors) = (run.denied, run.errors);
            return Err(Problem::failed(format!("the plain script denied {denied} and failed {errors}")));
        }
        Ok(run.per_second())
    }
}
