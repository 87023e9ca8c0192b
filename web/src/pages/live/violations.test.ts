import { describe, expect, it } from 'vitest';
import type { ViolationEvent } from '../../lib/types';
import { clientAddress, merged, reasonText, VIOLATIONS_LISTED_MAX } from './violations';

const violation = (second: number, key = 'eve', violation_id?: number): ViolationEvent => ({
  ...(violation_id === undefined ? {} : { violation_id }),
  requested_at: new Date(1_763_281_200_000 + second * 1_000).toISOString(),
  rule: 'per-user',
  bucket_key: key,
  user: key,
  address: null,
  endpoint: '/search',
  tokens_at_time: 0.5,
  cost: 1,
  reason: 'token_bucket_exceeded',
  door: 'http',
  sampled_for: 1,
});

describe('violations', () => {
  it('stand newest first, from the log or as they happen, and each once', () => {
    const live = merged([], [violation(1), violation(2)]);
    const both = merged(live, [violation(2, 'eve', 7), violation(0, 'eve', 5), violation(2, 'ann', 6)]);
    expect(both.map((one) => [one.bucket_key, one.violation_id])).toEqual([
      ['eve', 7],
      ['ann', 6],
      ['eve', undefined],
      ['eve', 5],
    ]);
  });

  it('are so many and no more, the oldest go', () => {
    const flood = Array.from({ length: 500 }, (_, second) => violation(second));
    const kept = merged([violation(1_000)], flood);
    expect(kept).toHaveLength(VIOLATIONS_LISTED_MAX);
    expect(kept[0]?.requested_at).toBe(violation(1_000).requested_at);
    expect(kept.at(-1)?.requested_at).toBe(violation(500 - VIOLATIONS_LISTED_MAX + 1).requested_at);
  });

  it('lead to their client where it has a bucket', () => {
    expect(clientAddress('per-user', 'a&b=c')).toBe('/clients?rule=per-user&key=a%26b%3Dc');
    expect(clientAddress('per-user', '')).toBeUndefined();
    expect(clientAddress('per-user', null)).toBeUndefined();
    expect(clientAddress('(kill switch)', 'user:eve')).toBeUndefined();
  });

  it('say why in words', () => {
    expect([reasonText('token_bucket_exceeded'), reasonText('some_new_reason')]).toEqual([
      'bucket empty',
      'some new reason',
    ]);
  });
});
