/** The colours of the page for those who draw: read once, and again when light and dark change. */

import { theme } from './theme.svelte';

const known = new Map<string, string>();
let isOfDark: boolean | undefined;

/** What a custom property of the page says, as `#rrggbb`. Whoever asks in an effect is asked to draw again when it changes. */
export function colour(name: `--${string}`): string {
  if (isOfDark !== theme.isDark) {
    known.clear();
    isOfDark = theme.isDark;
  }
  let value = known.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    known.set(name, value);
  }
  return value;
}
