import { describe, expect, it } from 'vitest';
import type { History, Rates } from '../../lib/types';
import { RULES_MAX, SECONDS_MAX, Timeline } from './timeline';

/** Some second since 1970. */
const BEGIN = 1_763_281_200;

const counts = (admitted: number, denied = 0, shadow = 0) => ({ admitted, denied, shadow, refused: 0 });

function rates(atMs: number, rules: Record<string, number>, ms = 1_000): Rates {
  const told = Object.entries(rules).map(([name, admitted]) => ({ name, ...counts(admitted) }));
  return {
    at_ms: atMs,
    ms,
    total: counts(told.reduce((sum, rule) => sum + rule.admitted, 0)),
    latency_us: told.length === 0 ? null : { p50: 2, p99: 9 },
    keys: 1,
    evicted: 0,
    store: {
      kind: 'memory',
      state: 'ok',
      exact: 0,
      leased: 0,
      fallback: 0,
      lease_hit_ratio: null,
      denial_cache_ratio: null,
      round_trips_per_check: null,
    },
    rules: told,
    left_out: 0,
    violations_left_out: 0,
  };
}

function history(endMs: number, rules: Record<string, (number | null)[]>): History {
  const columns = Object.values(rules);
  const seconds = columns[0]?.length ?? 0;
  const isKnown = (at: number): boolean => columns.some((column) => column[at] != null);
  const zeroes = Array.from({ length: seconds }, (_, at) => (isKnown(at) ? 0 : null));
  const admitted = zeroes.map((zero, at) =>
    zero === null ? null : columns.reduce((sum, column) => sum + (column[at] ?? 0), 0),
  );
  return {
    step_ms: 1_000,
    end_ms: endMs,
    seconds,
    total: { admitted, denied: zeroes, shadow: zeroes },
    latency_us: { p50: zeroes, p99: zeroes },
    rules: Object.entries(rules).map(([name, column]) => ({
      name,
      admitted: column,
      denied: zeroes,
      shadow: zeroes,
    })),
    left_out: 0,
  };
}

describe('the timeline', () => {
  it('keeps a second for each event, though events are never exactly a second apart', () => {
    const timeline = new Timeline();
    const drift = [0, 490, 1_510, 2_490, 3_510, 4_499];
    for (const [index, ms] of drift.entries()) timeline.add(rates(BEGIN * 1_000 + ms + 500, { a: index }));
    expect(timeline.counts('admitted', 4)).toEqual([2, 3, 4, 5]);
  });

  it('counts per second, however long the second was', () => {
    const timeline = new Timeline();
    timeline.add(rates(BEGIN * 1_000, { a: 300 }, 1_500));
    expect(timeline.counts('admitted', 1)).toEqual([200]);
  });

  it('shows a gap for seconds that nobody told of, and zero for a rule that was quiet', () => {
    const timeline = new Timeline();
    timeline.add(rates(BEGIN * 1_000, { a: 1, b: 1 }));
    timeline.add(rates((BEGIN + 3) * 1_000, { a: 4 }));
    expect(timeline.counts('admitted', 5)).toEqual([null, 2, null, null, 4]);
    expect(timeline.counts('admitted', 4, 'b')).toEqual([1, null, null, 0]);
    expect(timeline.times(2)).toEqual([BEGIN + 2, BEGIN + 3]);
  });

  it('says of a rule heard for the first time that it was quiet before', () => {
    const timeline = new Timeline();
    timeline.add(rates(BEGIN * 1_000, { a: 1 }));
    timeline.add(rates((BEGIN + 1) * 1_000, { late: 7 }));
    expect(timeline.counts('admitted', 3, 'late')).toEqual([null, 0, 7]);
    expect(timeline.counts('admitted', 2, 'unheard of')).toEqual([null, null]);
  });

  it('fills the gap of a lost connection by history, and keeps what came later', () => {
    const timeline = new Timeline();
    timeline.add(rates(BEGIN * 1_000, { a: 1 }));
    timeline.add(rates((BEGIN + 4) * 1_000, { a: 5 }));
    timeline.load(history((BEGIN + 3) * 1_000, { a: [2, 3, 4], b: [0, 8, 0] }));
    expect(timeline.counts('admitted', 5, 'a')).toEqual([1, 2, 3, 4, 5]);
    expect(timeline.counts('admitted', 5, 'b')).toEqual([0, 0, 8, 0, 0]);
    expect(timeline.counts('admitted', 5)).toEqual([1, 2, 11, 4, 5]);
  });

  it('leaves out a second that history already has', () => {
    const timeline = new Timeline();
    timeline.load(history(BEGIN * 1_000, { a: [null, 1, 2] }));
    timeline.add(rates(BEGIN * 1_000, { a: 99 }));
    timeline.add(rates((BEGIN - 1) * 1_000, { a: 99 }));
    timeline.add(rates((BEGIN + 1) * 1_000, { a: 3 }));
    expect(timeline.counts('admitted', 4)).toEqual([null, 1, 2, 3]);
  });

  it('holds fifteen minutes and no more', () => {
    const timeline = new Timeline();
    for (let second = 0; second < SECONDS_MAX + 10; second += 1) {
      timeline.add(rates((BEGIN + second) * 1_000, { a: second }));
    }
    const all = timeline.counts('admitted', SECONDS_MAX);
    expect([all[0], all.at(-1)]).toEqual([10, SECONDS_MAX + 9]);
  });

  it('forgets everything when the clock of the service goes back', () => {
    const timeline = new Timeline();
    timeline.add(rates((BEGIN + 60) * 1_000, { a: 1 }));
    timeline.add(rates(BEGIN * 1_000, { b: 2 }));
    expect(timeline.end).toBe(BEGIN);
    expect(timeline.counts('admitted', 2)).toEqual([null, 2]);
    expect(timeline.busyRules(SECONDS_MAX)).toEqual(['b']);
  });

  it('names rules that did anything in the time that is shown', () => {
    const timeline = new Timeline();
    timeline.load(history(BEGIN * 1_000, { old: [1, 0, 0, 0], never: [0, 0, 0, 0], now: [0, 0, 0, 1] }));
    expect(timeline.busyRules(4)).toEqual(['old', 'now']);
    expect(timeline.busyRules(3)).toEqual(['now']);
  });

  it('forgets the rule that was quiet longest when there are too many', () => {
    const timeline = new Timeline();
    timeline.add(rates(BEGIN * 1_000, { first: 1 }));
    const others = Array.from({ length: RULES_MAX }, (_, index) => [`rule-${index}`, 1] as const);
    timeline.add(rates((BEGIN + 1) * 1_000, Object.fromEntries(others)));
    const busy = timeline.busyRules(SECONDS_MAX);
    expect(busy).toHaveLength(RULES_MAX);
    expect(busy).not.toContain('first');
  });

  it('means over known seconds only', () => {
    const timeline = new Timeline();
    timeline.add(rates(BEGIN * 1_000, { a: 10 }));
    timeline.add(rates((BEGIN + 2) * 1_000, { a: 20 }));
    expect(timeline.mean('a', 10)).toEqual({ admitted: 15, denied: 0, shadow: 0 });
    expect(timeline.mean('b', 10)).toEqual({ admitted: 0, denied: 0, shadow: 0 });
  });
});
