// Token buckets on Redis or Valkey, shared with every program that keeps to the same contract: docs/redis-script.md.
import { readFileSync } from 'node:fs';
import { keyOf, limitOf } from './rule.js';
import { VERSION, digest, divisor, length8 } from './words.js';

const LIFETIME_MS = 90 * 86_400_000; // A rule's record is kept so long after it was last read.
const REREAD_MS = 10_000; // Another limit of a rule is noticed after so long.
const BURST_MAX = 9e9; // Tokens.
const FAULTS = { 1: 'another type of value', 2: 'a state that this version did not write' };

export class Tollgate {
  #redis;
  #begin;
  #rules = new Map(); // The limit of each rule in words, and when it was read.

  /** redis: a client or a Cluster of ioredis. tag: in a Cluster, puts all keys into one slot, so that any buckets can be checked together. */
  constructor(redis, { prefix = 'tg', tag } = {}) {
    this.#redis = redis;
    this.#begin = `${prefix}:${tag ? `{${tag}}` : ''}`;
    // ioredis sends EVALSHA, and EVAL when the server answers NOSCRIPT.
    for (const name of ['decide', 'declare']) {
      redis.defineCommand(`tollgate_${name}`, { lua: readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8') });
    }
  }

  /** A bucket whose limit comes with the call: it holds `burst` tokens, and gets `tokens` back every `seconds`; all are whole numbers. */
  bucket(key, { tokens, seconds = 1, burst }) {
    for (const [name, number] of Object.entries({ tokens, seconds, burst })) {
      const isSound = Number.isInteger(number) && number >= 1 && number <= BURST_MAX;
      if (!isSound) throw new RangeError(`\`${name}\` is ${number}; use a whole number from 1 to ${BURST_MAX} (half a token per second: 1 every 2)`);
    }
    const common = Number(divisor(BigInt(tokens), BigInt(seconds)));
    return { name: this.#name('*', Buffer.from(key)), limit: ['e', tokens / common, seconds / common, micros(burst)] };
  }

  /** A bucket of a rule that a node has declared, and whose it is: ['user', '42'] or ['ip', '192.0.2.7']; nobody's of scope global. */
  async bucketOfRule(policy, rule, ...parts) {
    const id = digest(length8(Buffer.byteLength(policy)), policy, rule).slice(0, 8);
    let known = this.#rules.get(id);
    if (!known || Date.now() - known.readAt > REREAD_MS) {
      const [, record] = await this.#run('declare', [`${this.#begin}${id}=`], [VERSION, 0, LIFETIME_MS]);
      known = { limit: limitOf(record, policy, rule), readAt: Date.now() };
      this.#rules.set(id, known);
    }
    return { name: this.#name(id, keyOf(parts)), limit: known.limit };
  }

  /**
   * Takes tokens from all buckets or from none: check([user, 5], [everyone, 1]). `remaining` are the tokens of each bucket, below 0 if it is in
   * debt; `waitSeconds` is when to ask again, Infinity if a bucket never holds as much.
   */
  async check(...charges) {
    const names = charges.map(([bucket]) => bucket.name);
    const isTwice = new Set(names.map((name) => name.toString('latin1'))).size < names.length;
    if (isTwice) throw new RangeError('a bucket stands twice in one check; add up the costs');
    const limits = charges.flatMap(([bucket]) => bucket.limit);
    const costs = charges.flatMap(([, tokens], at) => [at + 1, at + 1, micros(tokens), 0]);
    const words = [VERSION, 0, names.length, names.length, ...limits, 'c', names.length, ...costs];
    const [, status, ...told] = await this.#run('decide', names, words);
    if (status === 9) throw new Error(`a key of the check holds ${FAULTS[told[0]]}; use another \`prefix\`, or delete that key`);
    const [balances, waits] = [0, 1].map((number) => charges.map((_, at) => told[3 * at + number] / 1e6));
    return { admitted: status === 1, remaining: balances, waitSeconds: status === 2 ? Infinity : Math.max(...waits) };
  }

  async #run(script, keys, words) {
    try {
      return await this.#redis[`tollgate_${script}`](keys.length, ...keys, ...words);
    } catch (error) {
      if (!error.message.includes('TOLLGATEVERSION')) throw error;
      throw new Error(`${script}.lua is of another version than this program, which speaks ${VERSION}; take both from one release: ${error.message}`);
    }
  }

  /** Keys that are long, or have a brace in them, stand in names as their digest. */
  #name(rule, key) {
    if (key.length < 1 || key.length > 512) throw new RangeError(`a key has ${key.length} bytes; use 1 to 512`);
    const isPlain = key.length <= 64 && !key.includes('{');
    const shown = isPlain ? key : digest(length8(1), Buffer.of(0), length8(key.length), key).slice(0, 32);
    return Buffer.concat([Buffer.from(`${this.#begin}${rule}${isPlain ? ':' : '~'}`), Buffer.from(shown)]);
  }
}

const micros = (tokens) => Math.round(tokens * 1e6);
