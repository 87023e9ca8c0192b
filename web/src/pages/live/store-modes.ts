/** How checks were decided: by the store itself, by a lease of its tokens, or by the fallback while it is away. */

import type { StoreStanding } from '../../lib/types';

export const MODES = [
  { mode: 'exact', label: 'Exact' },
  { mode: 'leased', label: 'Leased' },
  { mode: 'fallback', label: 'Fallback' },
] as const;

export interface ModeShare {
  readonly mode: 'exact' | 'leased' | 'fallback';
  readonly label: string;
  /** Between 0 and 1; null where nothing was decided. */
  readonly share: number | null;
}

/** The share of each mode in these seconds together. */
export function modeShares(seconds: readonly StoreStanding[]): ModeShare[] {
  const sum = (mode: ModeShare['mode']): number => seconds.reduce((total, second) => total + second[mode], 0);
  const all = MODES.reduce((total, { mode }) => total + sum(mode), 0);
  return MODES.map(({ mode, label }) => ({ mode, label, share: all === 0 ? null : sum(mode) / all }));
}
