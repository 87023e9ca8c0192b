// Rules that nodes have declared: the limit in their record, and the keys of their buckets. See docs/redis-script.md.
import { createHash } from 'node:crypto';
import { VERSION, divisor } from './words.js';

// What a part of a key is, by its number.
const KINDS = { ip: 2, header: 3, query: 4, cookie: 5, claim: 6, route: 9, method: 11, host: 13, user: 14, plan: 16, constant: 18 };
const OTHER_METHOD = 12;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];
const PARTS_MAX = 14;

/** The words of the limit that a rule's record says. */
export function limitOf(record, policy, rule) {
  if (!record) throw new Error(`rule \`${rule}\` of policy \`${policy}\` is not declared; start a node that has it, and see to both names`);
  const [version, ...lengths] = record.slice(0, record.indexOf('\n')).split(' ');
  if (version !== `${VERSION}`) {
    throw new Error(`rule \`${rule}\` was declared by version ${version}, and this program speaks ${VERSION}; use one release everywhere`);
  }
  const rest = Buffer.from(record).subarray(record.indexOf('\n') + 1);
  const end = lengths.reduce((sum, length) => sum + Number(length), 0);
  const names = rest.toString('utf8', 0, end);
  if (names !== policy + rule) throw new Error(`rule \`${rule}\` has the same digest as another (${names}); give it another name`);
  const lines = rest.toString('utf8', end + 1).trimEnd().split('\n');
  const rows = lines.map((line) => line.split(' ').slice(1).map(BigInt));
  const older = lines.at(-1).startsWith('f') ? rows.pop() : undefined;
  if (rows.some((row) => row[10] !== 0n)) throw new Error(`rule \`${rule}\` is no token bucket; this program knows no other algorithm`);

  const limits = rows.map(([num, den, burst, , from, , frac]) => ({ from: Number(from / 1000n), burst: Number(burst), ...terms(num, den, frac) }));
  const [limit, ...past] = limits;
  const slow = rate(rows[0][15], rows[0][16]);
  if (past.length === 0) return ['b', limit.num, limit.den, limit.burst, limit.from, limit.frac, ...slow];
  // The rate that keys from before each limit were kept by: where any since was below it, they may have gone before they were full.
  const gone = limits.flatMap(({ from }, at) => {
    const before = rows[at + 1];
    const [burst, num, den] = before ? [before[2], before[17], before[18]] : (older?.slice(2) ?? []);
    const isCut = burst !== undefined && rows.slice(0, at + 1).some((row) => row[0] * den < num * row[1]);
    return isCut ? [[from, Number(burst), ...rate(num, den)]] : [];
  });
  const low = older && [...rate(older[0], older[1]), Number(older[2])];
  return ['j', JSON.stringify({ k: 't', ...limit, head: Number(rows[0][8]), slow, past, gone: gone.length > 0 ? gone : undefined, low })];
}

/** The key of a rule's bucket: each part after its kind and its length. Without one of them it is the one key of all who are anonymous. */
export function keyOf(parts) {
  if (parts.length > PARTS_MAX) throw new RangeError(`a key has ${parts.length} parts; use at most ${PARTS_MAX}`);
  if (parts.some(([, value]) => !value)) return Buffer.of(0);
  const written = parts.map(([source, value]) => {
    if (!(source in KINDS)) throw new RangeError(`a part of a key is of kind \`${source}\`; use one of ${Object.keys(KINDS).join(', ')}`);
    let [kind, bytes] = [KINDS[source], source === 'ip' ? network(value) : Buffer.from(value)];
    // Clients can make up methods, and must not get a bucket for each.
    if (source === 'method' && !METHODS.includes(value)) [kind, bytes] = [OTHER_METHOD, Buffer.alloc(0)];
    // Every part has its share of 512 bytes; one that needs more stands there as its hash.
    if ((bytes.length + 3) * parts.length > 511) [kind, bytes] = [kind + 128, createHash('sha256').update(bytes).digest()];
    return Buffer.concat([Buffer.of(kind, bytes.length >> 8, bytes.length & 255), bytes]);
  });
  return Buffer.concat([Buffer.of(1), ...written]);
}

/** What one client has: an IPv4 address, or a network of 64 bits of IPv6. */
function network(ip) {
  if (ip.includes('.')) return Buffer.of(...ip.split(':').at(-1).split('.').map(Number), 32);
  const [head, tail] = ip.split('::').map((words) => words.split(':').filter(Boolean));
  const words = tail ? [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail] : head;
  const bits = words.slice(0, 4).map((word) => word.padStart(4, '0')).join('');
  return Buffer.concat([Buffer.from(bits, 'hex'), Buffer.alloc(8), Buffer.of(64)]);
}

/** Micro-tokens every so many nanoseconds, as every so many microseconds. */
function terms(num, den, frac) {
  const common = divisor(1000n, den);
  return { num: Number((num * 1000n) / common), den: Number(den / common), frac: Number(frac / common) };
}

function rate(num, den) {
  const slow = terms(num, den, 0n);
  return [slow.num, slow.den];
}
