/** How the lanes are called, coloured and explained. */

import type { LaneId } from './scene';

export interface Look {
  readonly title: string;
  /** The custom property of its colour. */
  readonly colour: string;
  /** One sentence, shown beside the name. */
  readonly about: string;
  readonly shape: 'bucket' | 'queue' | 'quota';
}

export const LOOKS: Readonly<Record<LaneId, Look>> = {
  token_bucket: {
    title: 'Token bucket',
    colour: '--alg-token',
    about: 'Each request takes tokens; they drip back at the rate.',
    shape: 'bucket',
  },
  leaky_bucket: {
    title: 'Leaky bucket',
    colour: '--alg-leaky',
    about: 'Requests queue, and leave one by one at the rate.',
    shape: 'queue',
  },
  sliding_log: {
    title: 'Sliding log',
    colour: '--alg-log',
    about: 'Remembers every request of the last window.',
    shape: 'quota',
  },
  sliding_counter: {
    title: 'Sliding counter',
    colour: '--alg-counter',
    about: 'Two counts, and an estimate between them.',
    shape: 'quota',
  },
  fixed_window: {
    title: 'Fixed window',
    colour: '--alg-fixed',
    about: 'A quota that jumps back when the window turns.',
    shape: 'quota',
  },
  credit: {
    title: 'Burst credit',
    colour: '--alg-credit',
    about: 'A token bucket that saves up so much time.',
    shape: 'bucket',
  },
  tiers: {
    title: 'Nested tiers',
    colour: '--alg-token',
    about: 'Several buckets; a request needs all of them.',
    shape: 'bucket',
  },
};
