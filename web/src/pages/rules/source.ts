/** Where a rule in force is from, by the words of the service. */

import type { RuleInForce } from '../../lib/rules';

export type SourceKind = 'file' | 'record' | 'row' | 'order';

export function sourceOf(rule: RuleInForce): SourceKind {
  if (rule.source.startsWith('entry ')) return 'record';
  if (rule.source.startsWith('row ')) return 'row';
  if (rule.source.startsWith('order ')) return 'order';
  return 'file';
}

/** Tiers of one group stand together; all others by themselves. In the order of the policy. */
export function inGroups(rules: readonly RuleInForce[]): { group: string | null; rules: RuleInForce[] }[] {
  const groups: { group: string | null; rules: RuleInForce[] }[] = [];
  for (const rule of rules) {
    const group = rule.group ?? null;
    const last = groups.at(-1);
    if (last && last.group === group) last.rules.push(rule);
    else groups.push({ group, rules: [rule] });
  }
  return groups;
}

/** Whose bucket it is, in words. */
export function whoseBucket(rule: RuleInForce): string {
  if (rule.action !== 'limit') return '';
  if (rule.keys.length === 0) return 'one bucket for all';
  const keys = rule.keys.map((key) => (key === 'ip:prefix' ? 'address' : key));
  return `one for each ${keys.join(' and ')}`;
}
