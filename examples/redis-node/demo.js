// Twelve requests of user 42 at once, against 10 tokens of the user's own and 1,000 of everyone's.
import { Redis } from 'ioredis';
import { Tollgate } from './tollgate.js';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', { maxRetriesPerRequest: 1 });
const tollgate = new Tollgate(redis);
const user = tollgate.bucket('user:42', { tokens: 5, burst: 10 });
const everyone = tollgate.bucket('everyone', { tokens: 500, burst: 1000 });

for (let request = 1; request <= 12; request++) {
  const { admitted, remaining, waitSeconds } = await tollgate.check([user, 1], [everyone, 1]);
  console.log(`${request}: ${admitted ? 'admitted' : `denied, ask again in ${waitSeconds} s`}; left: ${remaining.map(Math.floor).join(' and ')}`);
}
redis.disconnect();
