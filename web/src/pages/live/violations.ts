/** The violations that are listed: newest first, each once, so many and no more. */

import type { ViolationEvent } from '../../lib/types';

export const VIOLATIONS_LISTED_MAX = 100;

/** Tells violations apart: those of the live stream have no number yet. */
export function identity(violation: ViolationEvent): string {
  return [violation.requested_at, violation.rule, violation.bucket_key, violation.endpoint].join('\n');
}

/** Adds violations in any order, from the log or as they happen. */
export function merged(
  known: readonly ViolationEvent[],
  more: readonly ViolationEvent[],
): readonly ViolationEvent[] {
  if (more.length === 0) return known;
  const all = new Map<string, ViolationEvent>();
  for (const violation of [...known, ...more]) all.set(identity(violation), violation);
  const time = (violation: ViolationEvent): number => Date.parse(violation.requested_at);
  return [...all.values()].sort((one, other) => time(other) - time(one)).slice(0, VIOLATIONS_LISTED_MAX);
}

/** Where the client of a violation is shown; nothing where it has no bucket of a rule. */
export function clientAddress(rule: string, key: string | null): string | undefined {
  if (key === null || key === '' || rule.startsWith('(')) return undefined;
  return `/clients?${new URLSearchParams({ rule, key })}`;
}

const REASONS: Readonly<Record<string, string>> = {
  token_bucket_exceeded: 'bucket empty',
  cost_exceeds_burst: 'costs more than the burst',
};

/** Why, for people. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll('_', ' ');
}
