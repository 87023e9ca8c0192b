/** What the engine answered, and where to look in it. Nothing here decides anything: it finds, counts and draws straight lines. */

import type { LaneId } from './scene';

export const DENIED = 0;
export const ADMITTED = 1;
export const DELAYED = 2;
export const NEVER = 3;

/** When, cost, what became of it, what was left, how long to wait, and which tier denied. */
export type Told = readonly [
  atMs: number,
  cost: number,
  outcome: number,
  balance: number,
  waitMs: number,
  tier: number | null,
];
export type Point = readonly [atMs: number, tokens: number];

export interface LaneTrace {
  readonly name: LaneId;
  readonly algorithm: string;
  readonly limit: string;
  readonly capacity: number;
  readonly admitted: number;
  readonly denied: number;
  readonly longest_delay_ms: number;
  readonly over_promise: number;
  readonly most_in_window: { readonly window_ms: number; readonly tokens: number };
  readonly events: readonly Told[];
  /** Of one bucket. */
  readonly level?: readonly Point[];
  /** Of several. */
  readonly levels?: readonly (readonly Point[])[];
  readonly tiers?: readonly { readonly name: string; readonly limit: string; readonly capacity: number }[];
}

export interface Trace {
  readonly length_ms: number;
  readonly arrivals: number;
  readonly engine: string;
  readonly promise: { readonly text: string; readonly rate_per_s: number; readonly burst: number };
  readonly lanes: readonly LaneTrace[];
}

/** A lane with its moments sorted out, so that each frame finds its own quickly. */
export interface Lane {
  readonly id: LaneId;
  readonly trace: LaneTrace;
  /** When requests were admitted. */
  readonly admitted: Float64Array;
  /** When what was admitted went ahead: later, where it was told to wait. Ascending. */
  readonly left: Float64Array;
  readonly denied: Float64Array;
  /** How many of these ask for more than there ever is. */
  readonly never: number;
  readonly levels: readonly (readonly Point[])[];
  readonly busiest: Busiest | null;
}

/** Where the most went ahead within a window. */
export interface Busiest {
  readonly fromMs: number;
  readonly toMs: number;
}

export function laneOf(trace: LaneTrace): Lane {
  const isAdmitted = (told: Told): boolean => told[2] === ADMITTED || told[2] === DELAYED;
  const through = trace.events.filter(isAdmitted);
  return {
    id: trace.name,
    trace,
    admitted: Float64Array.from(through, ([at]) => at),
    left: Float64Array.from(through, leaves).sort(),
    denied: Float64Array.from(
      trace.events.filter((told) => !isAdmitted(told)),
      ([at]) => at,
    ),
    never: trace.events.filter(([, , outcome]) => outcome === NEVER).length,
    levels: trace.levels ?? (trace.level ? [trace.level] : []),
    busiest: busiestOf(trace, through),
  };
}

function leaves([at, , outcome, , wait]: Told): number {
  return outcome === DELAYED ? at + wait : at;
}

/** How many of ascending moments are not after this one. */
export function countUntil(moments: Float64Array, atMs: number): number {
  let [low, high] = [0, moments.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((moments[middle] as number) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What a bucket held: the sample at the moment, the last if there are several, or a straight line between two. */
export function levelAt(points: readonly Point[], atMs: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((points[middle] as Point)[0] <= atMs) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [points[low - 1], points[low]];
  if (!before) return after?.[1] ?? 0;
  if (!after) return before[1];
  return before[1] + ((after[1] - before[1]) * (atMs - before[0])) / (after[0] - before[0]);
}

/**
 * Where the engine's figure of the most in any window is reached. It looks for that sum in the trace, and shows nothing rather than a place
 * that does not fit the figure.
 */
function busiestOf(trace: LaneTrace, through: readonly Told[]): Busiest | null {
  const { window_ms, tokens } = trace.most_in_window;
  const passed = through
    .map((told) => [leaves(told), told[1]] as const)
    .sort(([one], [other]) => one - other);
  let [first, sum] = [0, 0];
  for (const [at, cost] of passed) {
    sum += cost;
    while ((passed[first]?.[0] ?? at) <= at - window_ms) {
      sum -= passed[first]?.[1] ?? 0;
      first += 1;
    }
    if (Math.abs(sum - tokens) < 1e-6) {
      const fromMs = passed[first]?.[0] ?? at;
      return { fromMs, toMs: fromMs + window_ms };
    }
  }
  return null;
}

/** Requests in columns of equal length, for a picture. */
export interface Columns {
  readonly admitted: Uint16Array;
  readonly denied: Uint16Array;
}

export function columnsOf(lane: Lane, lengthMs: number, columns: number): Columns {
  const count = (moments: Float64Array): Uint16Array => {
    const counted = new Uint16Array(columns);
    for (const at of moments) {
      const column = Math.min(columns - 1, Math.floor((at / lengthMs) * columns));
      // What waits beyond the end of the run leaves out of sight.
      if (at <= lengthMs) counted[column] = (counted[column] ?? 0) + 1;
    }
    return counted;
  };
  return { admitted: count(lane.left), denied: count(lane.denied) };
}
