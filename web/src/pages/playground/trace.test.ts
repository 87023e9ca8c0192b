import { describe, expect, it } from 'vitest';
import { columnsOf, countUntil, laneOf, levelAt, type LaneTrace, type Point, type Told } from './trace';

const told = (atMs: number, outcome: number, waitMs = 0): Told => [atMs, 1, outcome, 0, waitMs, null];

const TRACE: LaneTrace = {
  name: 'leaky_bucket',
  algorithm: 'leaky_bucket',
  limit: '10/s evenly, queue 2',
  capacity: 2,
  admitted: 3,
  denied: 1,
  longest_delay_ms: 200,
  over_promise: 0,
  most_in_window: { window_ms: 150, tokens: 2 },
  events: [told(0, 1), told(0, 2, 100), told(0, 2, 200), told(50, 0, 50)],
  level: [
    [0, 2],
    [0, 0],
    [50, 0.5],
  ],
};

describe('the level at a moment', () => {
  const points: readonly Point[] = [
    [0, 50],
    [100, 50],
    [100, 40],
    [200, 41],
  ];
  it('is on the straight line between two samples', () => {
    expect([0, 50, 150, 200].map((at) => levelAt(points, at))).toEqual([50, 50, 40.5, 41]);
  });
  it('where it jumps is what it jumped to', () => {
    expect(levelAt(points, 100)).toBe(40);
    expect(levelAt(points, 99.999)).toBeCloseTo(50);
  });
  it('before and after all samples is the nearest', () => {
    expect([levelAt(points, -1), levelAt(points, 9_999), levelAt([], 5)]).toEqual([50, 41, 0]);
  });
});

describe('a lane', () => {
  const lane = laneOf(TRACE);
  it('counts what asks for more than there ever is', () => {
    expect([lane.never, laneOf({ ...TRACE, events: [told(0, 3), told(1, 0), told(2, 3)] }).never]).toEqual([
      0, 2,
    ]);
  });
  it('tells when a request was admitted from when it went ahead', () => {
    expect([...lane.admitted]).toEqual([0, 0, 0]);
    expect([...lane.left]).toEqual([0, 100, 200]);
    expect([...lane.denied]).toEqual([50]);
  });
  it('counts what happened until a moment, and at it', () => {
    expect([-1, 0, 99, 100, 1_000].map((at) => countUntil(lane.left, at))).toEqual([0, 1, 1, 2, 3]);
  });
  it('shows the window in which the figure of the engine is reached, or none', () => {
    expect(lane.busiest).toEqual({ fromMs: 0, toMs: 150 });
    const other = laneOf({ ...TRACE, most_in_window: { window_ms: 150, tokens: 99 } });
    expect(other.busiest).toBeNull();
  });
  it('is counted in columns, without what leaves after the end', () => {
    const { admitted, denied } = columnsOf(lane, 150, 3);
    expect([[...admitted], [...denied]]).toEqual([
      [1, 0, 1],
      [0, 1, 0],
    ]);
  });
});
