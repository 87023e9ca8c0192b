/** Scenes worth a look, each with two sentences about what is to be seen. */

import type { LaneId, Scene } from './scene';

export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly scene: Scene;
  /** Where the playhead begins. */
  readonly startMs: number;
}

const FIVE: readonly LaneId[] = [
  'token_bucket',
  'leaky_bucket',
  'sliding_log',
  'sliding_counter',
  'fixed_window',
];

/** What the others differ from. */
const PLAIN: Scene = {
  rate: { count: 10, per: 's' },
  burst: 50,
  cost: 1,
  windowMs: null,
  creditMs: 60_000,
  tiers: [
    { rate: { count: 5, per: 's' }, burst: 10 },
    { rate: { count: 60, per: 'm' }, burst: 60 },
  ],
  lengthMs: 10_000,
  streams: [{ pattern: 'steady', perSecond: 20, fromMs: 0, toMs: null }],
  fired: [],
  lanes: FIVE,
  speed: 1,
};

const DOUBLE_WINDOW: Preset = {
  id: 'double-window',
  title: 'Double-window attack',
  about:
    'The limit is 50 in five seconds, and the client knows when the window turns: it spends a whole quota just before, and a whole quota just after. ' +
    'The fixed window lets twice the quota through within a second, and then turns polite requests away; the token bucket, which knows no window, does neither.',
  startMs: 3_500,
  scene: {
    ...PLAIN,
    streams: [
      { pattern: 'steady', perSecond: 100, fromMs: 4_500, toMs: 5_500 },
      { pattern: 'steady', perSecond: 4, fromMs: 5_500, toMs: null },
    ],
    lengthMs: 11_000,
    lanes: ['fixed_window', 'token_bucket', 'leaky_bucket', 'sliding_log', 'sliding_counter'],
    speed: 0.5,
  },
};

export const PRESETS: readonly Preset[] = [
  DOUBLE_WINDOW,
  {
    id: 'parking-meter',
    title: 'Parking meter',
    about:
      'One coin drops in every six seconds, and the meter holds ten: nobody can save up more than ten, however long they wait. ' +
      'After the first ten, a client that asks every two seconds gets one in three.',
    startMs: 0,
    scene: {
      ...PLAIN,
      rate: { count: 10, per: 'm' },
      burst: 10,
      lengthMs: 120_000,
      streams: [{ pattern: 'steady', perSecond: 0.5, fromMs: 0, toMs: null }],
      speed: 10,
    },
  },
  {
    id: 'worked-example',
    title: 'Worked example',
    about:
      'A bucket of 50, refilled with 10 per second, and a client that sends 60 per second from the start. ' +
      'The first denial is the 60th request, not the 51st: while the bucket was emptied, it was also refilled.',
    startMs: 0,
    scene: {
      ...PLAIN,
      lengthMs: 5_000,
      streams: [{ pattern: 'steady', perSecond: 60, fromMs: 0, toMs: null }],
      speed: 0.5,
    },
  },
  {
    id: 'idle-reward',
    title: 'Idle reward',
    about:
      'A client spends all it has, is quiet for fifteen seconds, and then wants much at once. ' +
      'The token bucket pays for the patience, two for each second; the fixed window pays in full at its boundary, whoever waited; the log pays nothing before its window is over.',
    startMs: 18_000,
    scene: {
      ...PLAIN,
      rate: { count: 2, per: 's' },
      burst: 60,
      lengthMs: 60_000,
      streams: [{ pattern: 'bursts', count: 80, everyMs: 15_000, fromMs: 20_000, toMs: 40_000 }],
      speed: 5,
    },
  },
  {
    id: 'nested-tiers',
    title: 'Nested tiers',
    about:
      'Two buckets guard one door: five per second so that nobody rushes in, sixty per minute so that nobody stays all day. ' +
      'A request needs a token from both, and one that is denied by either spends nothing in the other.',
    startMs: 0,
    scene: {
      ...PLAIN,
      rate: { count: 60, per: 'm' },
      burst: 60,
      lengthMs: 60_000,
      streams: [{ pattern: 'waves', perSecond: 12, onMs: 4_000, offMs: 6_000, fromMs: 1_000, toMs: null }],
      lanes: ['tiers', 'token_bucket'],
      speed: 5,
    },
  },
  {
    id: 'password-reset',
    title: 'Password reset',
    about:
      'Five tries at once, for whoever mistypes; then one every five and a half minutes, for whoever guesses. ' +
      'A script that tries every twenty seconds gets some twenty guesses in an hour and a half; from the fixed window, ten of them within a few minutes.',
    startMs: 0,
    scene: {
      ...PLAIN,
      rate: { count: 0.003, per: 's' },
      burst: 5,
      lengthMs: 7_200_000,
      streams: [{ pattern: 'steady', perSecond: 0.05, fromMs: 1_500_000, toMs: null }],
      lanes: ['token_bucket', 'sliding_log', 'fixed_window'],
      speed: 300,
    },
  },
  {
    id: 'burst-credit',
    title: 'Burst credit',
    about:
      'The burst is said as a time: whoever is quiet for a minute has saved a minute of the rate, 120 at once. ' +
      'The same requests come in three rushes after longer and longer pauses; see how much of each the credit pays for.',
    startMs: 0,
    scene: {
      ...PLAIN,
      rate: { count: 2, per: 's' },
      burst: 120,
      creditMs: 60_000,
      lengthMs: 120_000,
      streams: [{ pattern: 'bursts', count: 130, everyMs: 300_000, fromMs: 5_000, toMs: null }],
      fired: [
        { atMs: 25_000, count: 130 },
        { atMs: 65_000, count: 130 },
      ],
      lanes: ['credit', 'leaky_bucket', 'fixed_window'],
      speed: 10,
    },
  },
];

export const DEFAULT_PRESET = DOUBLE_WINDOW;
