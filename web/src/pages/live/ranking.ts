/** Who comes first: rules in their table, and clients among the top talkers. Ties go by name, so that nothing changes places without a reason. */

import type { Talker, Times, Top } from '../../lib/types';
import type { Outcomes } from './timeline';

export type RuleOrder = 'denied' | 'admitted' | 'shadow' | 'name';

export interface RuleRow extends Outcomes {
  readonly name: string;
}

const byName = new Intl.Collator('en', { numeric: true }).compare;

/** The rules whose names hold the text, in order: most first, or by name. */
export function rankedRules(rows: readonly RuleRow[], order: RuleOrder, filter: string): RuleRow[] {
  const wanted = filter.trim().toLowerCase();
  const found = rows.filter((row) => row.name.toLowerCase().includes(wanted));
  return found.sort((one, other) => {
    const more = order === 'name' ? 0 : other[order] - one[order];
    return more !== 0 ? more : byName(one.name, other.name);
  });
}

/** Rows of now in an order of before; names that are new come last, names that are gone are left out. */
export function inOrder(rows: readonly RuleRow[], names: readonly string[]): RuleRow[] {
  const left = new Map(rows.map((row) => [row.name, row]));
  const placed: RuleRow[] = [];
  for (const name of names) {
    const row = left.get(name);
    if (!row) continue;
    placed.push(row);
    left.delete(name);
  }
  return [...placed, ...left.values()];
}

export type Measure = 'denied' | 'admitted' | 'near';

export interface RankedTalker {
  readonly rule: string;
  readonly client: string;
  readonly key: string | null;
  readonly times: Times;
}

/** The first clients of all rules together, by what is sure of them. */
export function topTalkers(top: Top, by: Measure, most: number): RankedTalker[] {
  const all = top.rules.flatMap(({ rule, clients }) =>
    clients.map((talker: Talker) => ({
      rule,
      client: talker.client,
      key: talker.key,
      times: talker[by],
    })),
  );
  return all
    .filter(({ times }) => times.at_most > 0)
    .sort(
      (one, other) =>
        other.times.at_least - one.times.at_least ||
        other.times.at_most - one.times.at_most ||
        byName(one.client, other.client) ||
        byName(one.rule, other.rule),
    )
    .slice(0, most);
}
