import { describe, expect, it } from 'vitest';
import type { Top } from '../../lib/types';
import { inOrder, rankedRules, topTalkers } from './ranking';

const row = (name: string, denied: number, admitted = 0, shadow = 0) => ({ name, denied, admitted, shadow });
const names = (rows: readonly { name: string }[]): string[] => rows.map(({ name }) => name);

describe('rules in their table', () => {
  const rows = [row('rule-10', 1, 5), row('rule-9', 1, 7), row('Login', 3, 1, 2)];

  it('puts most first, and ties by name as people count', () => {
    expect(names(rankedRules(rows, 'denied', ''))).toEqual(['Login', 'rule-9', 'rule-10']);
    expect(names(rankedRules(rows, 'admitted', ''))).toEqual(['rule-9', 'rule-10', 'Login']);
    expect(names(rankedRules(rows, 'shadow', ''))).toEqual(['Login', 'rule-9', 'rule-10']);
    expect(names(rankedRules(rows, 'name', ''))).toEqual(['Login', 'rule-9', 'rule-10']);
  });

  it('finds names whatever their case', () => {
    expect(names(rankedRules(rows, 'name', ' LOG '))).toEqual(['Login']);
    expect(rankedRules(rows, 'name', 'nothing')).toEqual([]);
  });

  it('keeps an order of before while figures move on', () => {
    const now = [row('a', 9), row('new', 8), row('b', 1)];
    expect(inOrder(now, ['b', 'gone', 'a'])).toEqual([row('b', 1), row('a', 9), row('new', 8)]);
  });
});

describe('top talkers', () => {
  const times = (at_least: number, at_most = at_least) => ({ at_least, at_most });
  const talker = (client: string, denied: ReturnType<typeof times>, admitted = times(0)) => ({
    client,
    key: client,
    denied,
    admitted,
    near: times(0),
  });
  const top: Top = {
    rules: [
      { rule: 'per-user', clients: [talker('eve', times(90)), talker('ann', times(0), times(5))] },
      {
        rule: 'per-address',
        clients: [talker('192.0.2.7', times(90, 100)), talker('192.0.2.9', times(2, 500))],
      },
    ],
    left_out: 0,
    missed: 0,
    instances: 1,
  };

  it('ranks clients of all rules by what is sure', () => {
    expect(topTalkers(top, 'denied', 10).map(({ client }) => client)).toEqual([
      '192.0.2.7',
      'eve',
      '192.0.2.9',
    ]);
    expect(topTalkers(top, 'denied', 1)).toHaveLength(1);
  });

  it('leaves out whom the measure does not know', () => {
    expect(topTalkers(top, 'admitted', 10).map(({ client }) => client)).toEqual(['ann']);
    expect(topTalkers(top, 'near', 10)).toEqual([]);
  });
});
