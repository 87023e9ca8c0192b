import { expect, it } from 'vitest';
import { modeShares } from './store-modes';

const standing = (exact: number, leased: number, fallback: number) => ({
  kind: 'redis',
  state: 'connected',
  exact,
  leased,
  fallback,
  lease_hit_ratio: null,
  denial_cache_ratio: null,
  round_trips_per_check: null,
});

it('the modes share all checks of a few seconds, and nothing when there were none', () => {
  const shares = modeShares([standing(10, 60, 0), standing(0, 20, 10)]).map(({ share }) => share);
  expect(shares).toEqual([0.1, 0.8, 0.1]);
  expect(modeShares([standing(0, 0, 0)]).map(({ share }) => share)).toEqual([null, null, null]);
});
