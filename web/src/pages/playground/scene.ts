/** What is played: one limit said in several ways, the requests, and who is shown. Knows nothing about how limits work. */

/** The lanes that there are, in the order in which they are shown. `credit` and `tiers` are token buckets. */
export const LANE_IDS = [
  'token_bucket',
  'leaky_bucket',
  'sliding_log',
  'sliding_counter',
  'fixed_window',
  'credit',
  'tiers',
] as const;
export type LaneId = (typeof LANE_IDS)[number];

export type Unit = 's' | 'm' | 'h';
export const UNITS: Readonly<Record<Unit, { readonly label: string; readonly ms: number }>> = {
  s: { label: 'per second', ms: 1_000 },
  m: { label: 'per minute', ms: 60_000 },
  h: { label: 'per hour', ms: 3_600_000 },
};

export interface Rate {
  readonly count: number;
  readonly per: Unit;
}

export interface Tier {
  readonly rate: Rate;
  readonly burst: number;
}

interface Between {
  readonly fromMs: number;
  /** `null` for the end of the run. */
  readonly toMs: number | null;
}

/** Requests by a pattern. */
export type Stream = Between &
  (
    | { readonly pattern: 'steady'; readonly perSecond: number }
    | { readonly pattern: 'poisson'; readonly perSecond: number; readonly seed: number }
    | { readonly pattern: 'waves'; readonly perSecond: number; readonly onMs: number; readonly offMs: number }
    | { readonly pattern: 'bursts'; readonly count: number; readonly everyMs: number }
  );
export type Pattern = Stream['pattern'];

/** A burst that the viewer fired. */
export interface Fired {
  readonly atMs: number;
  readonly count: number;
}

export interface Scene {
  readonly rate: Rate;
  readonly burst: number;
  readonly cost: number;
  /** Of the quotas. `null`: as long as an empty bucket takes to fill, so that the quota is the burst. */
  readonly windowMs: number | null;
  /** What the credit lane saves, as a time. */
  readonly creditMs: number;
  readonly tiers: readonly Tier[];
  readonly lengthMs: number;
  readonly streams: readonly Stream[];
  readonly fired: readonly Fired[];
  readonly lanes: readonly LaneId[];
  /** How much faster than life it is played. */
  readonly speed: number;
}

export const STREAMS_MAX = 4;
export const TIERS_MAX = 4;
export const FIRED_MAX = 20;
/** The service plays no more; one more is sent, so that it says so. */
const REQUESTS_MAX = 5_000;
export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300] as const;

/** The same limit, said in windows: so much in so long. */
export function quotaOf(scene: Scene): { readonly quota: number; readonly windowMs: number } {
  const { rate, burst, windowMs } = scene;
  const unitMs = UNITS[rate.per].ms;
  if (windowMs === null) return { quota: burst, windowMs: Math.ceil((burst * unitMs) / rate.count) };
  return { quota: Math.max(1, Math.floor((rate.count * windowMs) / unitMs)), windowMs };
}

export function rateText(rate: Rate): string {
  return `${rate.count}/${rate.per}`;
}

/** What the service is asked: the body of `POST /admin/v1/simulate`. */
export function question(scene: Scene): Record<string, unknown> {
  const { rate, burst, cost, lengthMs } = scene;
  // What was fired beyond the end of a run that was made shorter comes back when it is longer again.
  const within = scene.fired.filter(({ atMs }) => atMs <= lengthMs);
  const bursts = within.map(({ atMs, count }) => ({ pattern: 'burst', at_ms: atMs, count, cost }));
  return {
    length_ms: lengthMs,
    arrivals: [...scene.streams.flatMap((stream) => streamOf(stream, scene)), ...bursts],
    lanes: scene.lanes.map((id) => laneOf(id, scene)),
    promise: { rate: rateText(rate), burst },
  };
}

function streamOf(stream: Stream, { cost, lengthMs }: Scene): Record<string, unknown>[] {
  const [from_ms, to_ms] = [stream.fromMs, Math.min(stream.toMs ?? lengthMs, lengthMs)];
  if (from_ms >= to_ms) return [];
  switch (stream.pattern) {
    case 'steady':
      return [{ pattern: 'steady', per_second: stream.perSecond, from_ms, to_ms, cost }];
    case 'poisson':
      return [{ pattern: 'poisson', per_second: stream.perSecond, seed: stream.seed, from_ms, to_ms, cost }];
    case 'waves': {
      const [on_ms, off_ms] = [Math.min(stream.onMs, lengthMs), Math.min(stream.offMs, lengthMs)];
      return [{ pattern: 'waves', per_second: stream.perSecond, on_ms, off_ms, from_ms, to_ms, cost }];
    }
    case 'bursts': {
      const moments: number[] = [];
      for (let at = from_ms; at < to_ms && moments.length <= REQUESTS_MAX; at += stream.everyMs)
        for (let request = 0; request < stream.count; request += 1) moments.push(at);
      return [{ pattern: 'list', at_ms: moments.slice(0, REQUESTS_MAX + 1), cost }];
    }
  }
}

function laneOf(id: LaneId, scene: Scene): Record<string, unknown> {
  const rate = rateText(scene.rate);
  const { quota, windowMs } = quotaOf(scene);
  const window = `${windowMs}ms`;
  switch (id) {
    case 'token_bucket':
      return { name: id, algorithm: id, rate, burst: scene.burst };
    case 'leaky_bucket':
      return { name: id, algorithm: id, rate, queue: scene.burst };
    case 'credit':
      return { name: id, algorithm: 'token_bucket', rate, credit: `${scene.creditMs}ms` };
    case 'tiers': {
      const tiers = scene.tiers.map((tier, index) => ({
        name: `tier ${index + 1}`,
        rate: rateText(tier.rate),
        burst: tier.burst,
      }));
      return { name: id, algorithm: id, tiers };
    }
    default:
      return { name: id, algorithm: id, quota, window };
  }
}

/** Of two scenes, whether they are played alike. */
export function isSame(one: Scene, other: Scene): boolean {
  return sorted(one) === sorted(other);
}

function sorted(scene: Scene): string {
  return JSON.stringify(scene, (_, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
}
