// examples/redis-node as a test drives it: an order as JSON on each line of stdin, and an answer on stdout for each.
import readline from 'node:readline';
import { Cluster, Redis } from 'ioredis';
import { Tollgate } from './tollgate.js';

const LANES = 8; // Checks under way at a time.
const { REDIS_URL, TAG } = process.env; // With a tag it is a cluster's.
const redis = TAG ? new Cluster([REDIS_URL]) : new Redis(REDIS_URL, { maxRetriesPerRequest: 1 });
const tollgate = new Tollgate(redis, { tag: TAG });

function bucket({ rule, key, tokens, seconds, burst }) {
  return rule ? tollgate.bucketOfRule(...rule) : tollgate.bucket(key, { tokens, seconds, burst });
}

const micros = (number) => (Number.isFinite(number) ? Math.round(number * 1e6) : -1);

const doing = {
  /** The same check `times` times. */
  async check({ charges, times }) {
    let [admitted, last] = [0, undefined];
    const lane = async () => {
      while (times-- > 0) {
        const asked = await Promise.all(charges.map(async (charge) => [await bucket(charge), charge.cost]));
        last = await tollgate.check(...asked);
        admitted += last.admitted;
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return { admitted, wait: micros(last.waitSeconds), remaining: last.remaining.map(micros) };
  },
  /** A bucket's name and the words of its limit. */
  async words({ charge }) {
    const { name, limit } = await bucket(charge);
    return { name: name.toString('hex'), limit: limit.map(String) };
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const answer = await doing[order.do](order).catch((error) => ({ error: error.message }));
  console.log(JSON.stringify(answer));
}
process.exit(0);
