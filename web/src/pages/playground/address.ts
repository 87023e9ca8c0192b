/**
 * A scene as the query of an address, and back. Short, without letters that would need escaping; a query that is damaged in any way is
 * refused as a whole, since half a scene would show something that nobody meant.
 */

import { DEFAULT_PRESET, PRESETS, type Preset } from './presets';
import {
  FIRED_MAX,
  isSame,
  LANE_IDS,
  SPEEDS,
  STREAMS_MAX,
  TIERS_MAX,
  UNITS,
  type Fired,
  type LaneId,
  type Rate,
  type Scene,
  type Stream,
  type Tier,
  type Unit,
} from './scene';

export interface Place {
  readonly scene: Scene;
  /** Of the playhead; `null` where the address does not say. */
  readonly atMs: number | null;
  /** What the scene was taken from, unchanged. */
  readonly preset: Preset | null;
  /** Why the default is shown instead of what the address says. */
  readonly damage: string | null;
}

const DAY_MS = 86_400_000;
const NUMBER = /^\d{1,9}(\.\d{1,6})?$/;
const NAMES = ['p', 'r', 'b', 'c', 'w', 'k', 'q', 'l', 'a', 'f', 'n', 'x', 't'];
const [INSIDE, BETWEEN] = ['_', '~'];

/** The letters by which an address names the lanes. */
const LANE_LETTERS: Readonly<Record<LaneId, string>> = {
  token_bucket: 't',
  leaky_bucket: 'l',
  sliding_log: 's',
  sliding_counter: 'c',
  fixed_window: 'f',
  credit: 'k',
  tiers: 'n',
};

/** The query of a scene, without its question mark. */
export function write(scene: Scene, atMs: number | null = null): string {
  const at = atMs === null ? '' : `t=${Math.round(atMs)}`;
  const preset = PRESETS.find((known) => isSame(known.scene, scene));
  if (preset) return [`p=${preset.id}`, at].filter((part) => part !== '').join('&');
  const parts = [
    `r=${rateWritten(scene.rate)}`,
    `b=${scene.burst}`,
    `c=${scene.cost}`,
    scene.windowMs === null ? '' : `w=${scene.windowMs}`,
    `k=${scene.creditMs}`,
    `q=${scene.tiers.map(({ rate, burst }) => rateWritten(rate) + INSIDE + burst).join(BETWEEN)}`,
    `l=${scene.lengthMs}`,
    `a=${scene.streams.map(streamWritten).join(BETWEEN)}`,
    scene.fired.length === 0
      ? ''
      : `f=${scene.fired.map((one) => one.atMs + INSIDE + one.count).join(BETWEEN)}`,
    `n=${scene.lanes.map((id) => LANE_LETTERS[id]).join('')}`,
    `x=${scene.speed}`,
    at,
  ];
  return parts.filter((part) => part !== '').join('&');
}

/** What an address says; the default with the reason if it is damaged. */
export function read(search: URLSearchParams): Place {
  if ([...search.keys()].length === 0)
    return { scene: DEFAULT_PRESET.scene, atMs: null, preset: DEFAULT_PRESET, damage: null };
  try {
    const names = [...search.keys()];
    const unknown = names.find((name) => !NAMES.includes(name));
    if (unknown !== undefined) throw new Damage(unknown.slice(0, 40), 'is not known here');
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new Damage(twice, 'is there twice');
    const scene = search.has('p') ? presetRead(search) : sceneRead(search);
    const at = search.get('t');
    const atMs = at === null ? null : number('t', at, 0, scene.lengthMs);
    const preset = PRESETS.find((known) => isSame(known.scene, scene)) ?? null;
    return { scene, atMs, preset, damage: null };
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    return { scene: DEFAULT_PRESET.scene, atMs: null, preset: DEFAULT_PRESET, damage: error.message };
  }
}

class Damage extends Error {
  constructor(name: string, what: string) {
    super(`\`${name}\` ${what}`);
  }
}

function presetRead(search: URLSearchParams): Scene {
  const stray = [...search.keys()].find((name) => name !== 'p' && name !== 't');
  if (stray !== undefined) throw new Damage(stray, 'does not go with `p`');
  const preset = PRESETS.find((known) => known.id === search.get('p'));
  if (!preset) throw new Damage('p', 'names no preset');
  return preset.scene;
}

function sceneRead(search: URLSearchParams): Scene {
  const said = (name: string): string => {
    const value = search.get(name);
    if (value === null) throw new Damage(name, 'is missing');
    if (value.length > 600) throw new Damage(name, 'is too long');
    return value;
  };
  const lengthMs = number('l', said('l'), 100, DAY_MS);
  const window = search.get('w');
  return {
    rate: rateRead('r', said('r')),
    burst: number('b', said('b'), 0.001, 1_000_000),
    cost: number('c', said('c'), 0.001, 1_000_000),
    windowMs: window === null ? null : number('w', window, 1, DAY_MS),
    creditMs: number('k', said('k'), 1, DAY_MS),
    tiers: several('q', said('q'), TIERS_MAX, tierRead),
    lengthMs,
    streams: several('a', said('a'), STREAMS_MAX, (text) => streamRead(text, lengthMs)),
    fired: several('f', search.get('f') ?? '', FIRED_MAX, (text) => firedRead(text, lengthMs)),
    lanes: lanesRead(said('n')),
    speed: speedRead(said('x')),
  };
}

function number(name: string, text: string, least: number, most: number): number {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) throw new Damage(name, `is no number from ${least} to ${most}`);
  return value;
}

function several<T>(name: string, text: string, most: number, one: (text: string) => T): T[] {
  const parts = text === '' ? [] : text.split(BETWEEN);
  if (parts.length > most) throw new Damage(name, `has more than ${most}`);
  return parts.map(one);
}

function rateWritten(rate: Rate): string {
  return `${rate.count}${rate.per}`;
}

function rateRead(name: string, text: string): Rate {
  const per = text.slice(-1);
  if (!Object.hasOwn(UNITS, per)) throw new Damage(name, 'is no rate such as 10s, 60m or 5h');
  return { count: number(name, text.slice(0, -1), 0.000_001, 1_000_000), per: per as Unit };
}

function tierRead(text: string): Tier {
  const [rate = '', burst = '', ...rest] = text.split(INSIDE);
  if (rest.length > 0) throw new Damage('q', 'is no list of tiers');
  return { rate: rateRead('q', rate), burst: number('q', burst, 0.001, 1_000_000) };
}

function firedRead(text: string, lengthMs: number): Fired {
  const [at = '', count = '', ...rest] = text.split(INSIDE);
  if (rest.length > 0) throw new Damage('f', 'is no list of bursts');
  return { atMs: number('f', at, 0, lengthMs), count: whole('f', count, 5_000) };
}

function whole(name: string, text: string, most: number): number {
  const value = number(name, text, 1, most);
  if (!Number.isInteger(value)) throw new Damage(name, 'has a count that is not whole');
  return value;
}

function streamWritten(stream: Stream): string {
  const until = stream.toMs === null ? [] : [stream.toMs];
  return [stream.pattern, ...figuresOf(stream), stream.fromMs, ...until].join(INSIDE);
}

function figuresOf(stream: Stream): number[] {
  switch (stream.pattern) {
    case 'steady':
      return [stream.perSecond];
    case 'poisson':
      return [stream.perSecond, stream.seed];
    case 'waves':
      return [stream.perSecond, stream.onMs, stream.offMs];
    case 'bursts':
      return [stream.count, stream.everyMs];
  }
}

/** How many figures of its own a pattern has. */
const FIGURES: ReadonlyMap<string, number> = new Map([
  ['steady', 1],
  ['poisson', 2],
  ['waves', 3],
  ['bursts', 2],
]);

function streamRead(text: string, lengthMs: number): Stream {
  const [pattern = '', ...rest] = text.split(INSIDE);
  const figures = rest.map((figure) => number('a', figure, 0, DAY_MS));
  const own = FIGURES.get(pattern);
  if (own === undefined) throw new Damage('a', 'names an unknown pattern');
  const [first, second, third] = figures as [number, number, number];
  const [fromMs, toMs = null, ...more] = figures.slice(own);
  if (fromMs === undefined || more.length > 0 || first <= 0 || fromMs > lengthMs)
    throw new Damage('a', `has ${pattern} with figures that do not fit`);
  const between = { fromMs, toMs };
  switch (pattern) {
    case 'poisson':
      return { pattern, perSecond: first, seed: second, ...between };
    case 'waves':
      if (second <= 0) throw new Damage('a', 'has waves that last no time');
      return { pattern, perSecond: first, onMs: second, offMs: third, ...between };
    case 'bursts':
      if (second <= 0) throw new Damage('a', 'has bursts at no distance');
      return { pattern, count: whole('a', String(first), 5_000), everyMs: second, ...between };
    default:
      return { pattern: 'steady', perSecond: first, ...between };
  }
}

function lanesRead(text: string): LaneId[] {
  const lanes = [...text].map((letter) => LANE_IDS.find((id) => LANE_LETTERS[id] === letter));
  if (lanes.length === 0 || lanes.includes(undefined) || new Set(lanes).size !== lanes.length)
    throw new Damage('n', 'names no lanes, unknown ones, or one twice');
  return lanes as LaneId[];
}

function speedRead(text: string): number {
  const speed = SPEEDS.find((known) => String(known) === text);
  if (speed === undefined) throw new Damage('x', 'is no speed that there is');
  return speed;
}
