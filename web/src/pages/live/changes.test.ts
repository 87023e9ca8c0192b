import { expect, it } from 'vitest';
import { changeText } from './changes';

it('a change is told in words, and one that is not known as it is', () => {
  expect(
    [
      { what: 'policy', version: 7, hash: 'abc' },
      { what: 'rules.apply', version: 8, by: 'ann' },
      { what: 'order.give', order: { kind: 'block', who: 'eve', who_kind: 'user' }, by: 'ann' },
      { what: 'order.revoke', order: { kind: 'kill_switch', rule: null, who: null }, by: 'ann' },
      { what: 'order.give', order: { kind: 'mode', rule: 'per-user', mode: 'shadow' } },
      { what: 'bucket.grant', rule: 'per-user' },
      { what: 'order.give' },
      { what: 'moon.phase' },
    ].map(changeText),
  ).toEqual([
    'Version 7 of the rules is in force',
    'Rules changed: version 8',
    'Block of eve given',
    'Kill switch revoked',
    'Mode of per-user given',
    'Tokens granted to a bucket of per-user',
    'order given',
    'moon.phase',
  ]);
});
