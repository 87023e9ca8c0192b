import { describe, expect, it } from 'vitest';
import { isSpentFrom, named, rulesFor, shownBalance, whomToOrder, type Bucket } from './clients';
import type { RuleInForce } from './rules';

const rule = (name: string, keys: string[], more: Partial<RuleInForce> = {}): RuleInForce => ({
  name,
  keys,
  source: 'the file',
  scope: 'user',
  action: 'limit',
  mode: 'enforce',
  rollout_percent: 100,
  consistency: 'exact',
  on_store_failure: 'local',
  counts: { admitted: 0, denied: 0, refused: 0, shadow_denied: 0 },
  ...more,
});

describe('a key as an operator types it', () => {
  it('is about a user, an address or something else', () => {
    expect(named('user:42')).toEqual({ kind: 'user', name: '42' });
    expect(named('user:a:b')).toEqual({ kind: 'user', name: 'a:b' });
    for (const text of ['192.0.2.7', 'ip:192.0.2.7', 'ip:prefix=192.0.2.7/32', 'address:192.0.2.7'])
      expect(named(text), text).toEqual({ kind: 'address', name: '192.0.2.7' });
    expect(named('2001:db8::1')).toEqual({ kind: 'address', name: '2001:db8::1' });
    for (const text of ['42', 'all', 'header:x-api-key=abc', 'user=42,path=/', '2001:db8::/64'])
      expect(named(text), text).toEqual({ kind: 'other' });
  });

  it('has buckets under the rules that take such a key', () => {
    const rules = [
      rule('user', ['user']),
      rule('ip', ['ip:prefix']),
      rule('global', []),
      rule('key', ['header:x-api-key']),
      rule('two', ['user', 'path']),
      rule('block', ['user'], { action: 'block' }),
      rule('order-1', ['user'], { source: 'order 1' }),
    ];
    const names = (key: string): string[] => rulesFor(key, rules).map(({ name }) => name);
    expect(names('user:42')).toEqual(['user']);
    expect(names('192.0.2.7')).toEqual(['user', 'ip']);
    expect(names('all')).toContain('global');
    expect(names('header:x-api-key=abc')).toEqual(['key']);
    expect(names('user=42,path=/x')).toEqual(['two']);
    expect(names('42')).toEqual(['user', 'key']);
  });

  it('says whom an order can be about', () => {
    expect(whomToOrder('user:42', 'api').map(({ who }) => who)).toEqual(['user:42', 'key:user:42']);
    expect(whomToOrder('192.0.2.7', undefined).map(({ who }) => who)).toEqual(['address:192.0.2.7']);
    expect(whomToOrder('header:x=1', 'api')).toMatchObject([{ who: 'key:header:x=1', rule: 'api' }]);
    expect(whomToOrder('header:x=1', undefined)).toEqual([]);
  });
});

describe('a gauge between two answers', () => {
  const bucket: Bucket = {
    shadow: false,
    algorithm: 'token_bucket',
    limit: '10/s, burst 50',
    balance: 10,
    full: 50,
    next_admit_ms: 0,
    full_in_ms: 4_000,
    exists: true,
    mode: 'exact',
  };
  it('refills evenly, never above full, and not for long by itself', () => {
    expect([0, 1_000, 2_000, -5].map((ms) => shownBalance(bucket, ms))).toEqual([10, 20, 30, 10]);
    expect(shownBalance({ ...bucket, full_in_ms: 500 }, 2_000)).toBe(50);
    expect(shownBalance(bucket, 60_000)).toBe(40);
    expect(shownBalance({ ...bucket, balance: -10, full_in_ms: 6_000 }, 1_000)).toBe(0);
  });
  it('is not foreseen while somebody spends', () => {
    const later = (balance: number): Bucket => ({ ...bucket, balance });
    expect(isSpentFrom(bucket, later(25), 1_500)).toBe(false);
    expect(isSpentFrom(bucket, later(24.8), 1_500)).toBe(false);
    expect(isSpentFrom(bucket, later(24), 1_500)).toBe(true);
    expect(isSpentFrom(bucket, later(50), 60_000)).toBe(false);
  });
  it('stands still where nothing refills evenly', () => {
    expect(shownBalance({ ...bucket, algorithm: 'sliding_window' }, 1_000)).toBe(10);
    expect(shownBalance({ ...bucket, balance: 50, full_in_ms: 0 }, 1_000)).toBe(50);
  });
});
