/** One minute about why a token bucket holds where a fixed window does not. Its figures are those of the run that is shown. */

import { tokens } from '../../lib/format';
import { DEFAULT_PRESET, type Preset } from './presets';
import type { LaneId } from './scene';
import type { Lane } from './trace';

export interface Step {
  readonly caption: (lanes: readonly Lane[]) => string;
  /** Of whom it speaks; the first is brought into sight. */
  readonly lanes: readonly LaneId[];
  /** What is played meanwhile. */
  readonly fromMs: number;
  readonly toMs: number;
  /** How long the caption stays, and how much of that is played, in seconds. */
  readonly seconds: number;
  readonly playedSeconds: number;
}

export const TOUR_PRESET: Preset = DEFAULT_PRESET;

function mostOf(lanes: readonly Lane[], id: LaneId): string {
  const lane = lanes.find((known) => known.id === id);
  return lane ? tokens(lane.trace.most_in_window.tokens) : '…';
}

function overOf(lanes: readonly Lane[], id: LaneId): string {
  const lane = lanes.find((known) => known.id === id);
  return lane ? tokens(lane.trace.over_promise) : '…';
}

export const STEPS: readonly Step[] = [
  {
    caption: () =>
      'Five limiters, one promise: 50 at once, and 10 more each second. The very same requests go through all five.',
    lanes: [],
    fromMs: 3_500,
    toMs: 4_400,
    seconds: 7,
    playedSeconds: 6,
  },
  {
    caption: () =>
      'Half a second before the five-second window turns, a client sends fifty. All admit them: nobody had asked for anything yet.',
    lanes: ['fixed_window', 'token_bucket'],
    fromMs: 4_400,
    toMs: 4_999,
    seconds: 8,
    playedSeconds: 5,
  },
  {
    caption: () =>
      'The window turns. The quota of the fixed window jumps back to full, and fifty more go straight through.',
    lanes: ['fixed_window'],
    fromMs: 4_999,
    toMs: 5_499,
    seconds: 8,
    playedSeconds: 5,
  },
  {
    caption: (lanes) =>
      `That makes ${mostOf(lanes, 'fixed_window')} within a second, twice the quota: ${overOf(lanes, 'fixed_window')} over the promise. Whatever stood behind it took twice the load.`,
    lanes: ['fixed_window'],
    fromMs: 5_499,
    toMs: 5_499,
    seconds: 7,
    playedSeconds: 0,
  },
  {
    caption: (lanes) =>
      `The token bucket knows no window. It was empty, and got back only what dripped in: ${overOf(lanes, 'token_bucket')} over the promise, at whatever moment one looks.`,
    lanes: ['token_bucket'],
    fromMs: 4_400,
    toMs: 5_600,
    seconds: 8,
    playedSeconds: 5,
  },
  {
    caption: () =>
      'The leaky bucket lets nobody leap: requests wait in its queue, and leave one by one. Smooth, but the patient wait as well.',
    lanes: ['leaky_bucket'],
    fromMs: 4_400,
    toMs: 8_500,
    seconds: 8,
    playedSeconds: 6,
  },
  {
    caption: () =>
      'The sliding log remembers every request of the last five seconds; the counter guesses from two numbers. Both hold, but the log now turns even polite requests away, which the token bucket admits again.',
    lanes: ['sliding_log', 'token_bucket'],
    fromMs: 5_500,
    toMs: 10_600,
    seconds: 8,
    playedSeconds: 6,
  },
  {
    caption: () =>
      'Now you: change rate and burst, stop somewhere and fire a burst, and send the link to whoever still counts by the minute.',
    lanes: [],
    fromMs: 11_000,
    toMs: 11_000,
    seconds: 6,
    playedSeconds: 0,
  },
];
