/** What each rule does per second, as the service last told. For a component: it listens as long as that is there. */

import { onMount } from 'svelte';
import { listen } from './stream.svelte';

export interface PerSecond {
  readonly admitted: number;
  readonly denied: number;
  readonly shadow: number;
}

const NOTHING: PerSecond = { admitted: 0, denied: 0, shadow: 0 };

export interface RuleRates {
  /** Whether anything was told yet. */
  readonly isKnown: boolean;
  of(rule: string): PerSecond;
}

export function ruleRates(): RuleRates {
  let told = $state.raw<ReadonlyMap<string, PerSecond> | null>(null);
  onMount(() =>
    listen({
      rates: ({ rules, ms }) => {
        const perSecond = (count: number | undefined): number => ((count ?? 0) * 1_000) / Math.max(ms, 1);
        told = new Map(
          rules.map((rule) => [
            rule.name,
            {
              admitted: perSecond(rule.admitted),
              // A rule that blocks refuses.
              denied: perSecond(rule.denied + rule.refused),
              shadow: perSecond(rule.shadow),
            },
          ]),
        );
      },
    }),
  );
  return {
    get isKnown() {
      return told !== null;
    },
    of: (rule) => told?.get(rule) ?? NOTHING,
  };
}
