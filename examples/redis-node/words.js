// What the contract's words are made of: docs/redis-script.md.
import { createHash } from 'node:crypto';

/** Of the script's arguments, replies and names of keys. */
export const VERSION = 1;

export const divisor = (a, b) => (b === 0n ? a : divisor(b, a % b));

/** A length as eight bytes. */
export function length8(length) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}

export function digest(...parts) {
  const hash = createHash('sha256');
  for (const bytes of parts) hash.update(bytes);
  return hash.digest('base64url');
}
