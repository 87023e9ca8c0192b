/** What was changed, in words. The service may tell of things that this page does not know yet: these are told as they are. */

import type { Change } from '../../lib/types';

export const CHANGES_LISTED_MAX = 20;

const ORDERS: Readonly<Record<string, string>> = {
  block: 'Block',
  allow: 'Allowance',
  override: 'Override',
  kill_switch: 'Kill switch',
  mode: 'Mode',
};

export function changeText(change: Change): string {
  const text = (name: string): string => {
    const value = change[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '?';
  };
  switch (change.what) {
    case 'policy':
      return `Version ${text('version')} of the rules is in force`;
    case 'rules.apply':
      return `Rules changed: version ${text('version')}`;
    case 'rules.rollback':
      return `Rules rolled back: version ${text('version')}`;
    case 'order.give':
      return `${orderText(change)} given`;
    case 'order.revoke':
      return `${orderText(change)} revoked`;
    case 'bucket.reset':
      return `A bucket of ${text('rule')} was reset`;
    case 'bucket.grant':
      return `Tokens granted to a bucket of ${text('rule')}`;
    case 'token.create':
      return `Admin token ${text('token')} made`;
    case 'token.revoke':
      return `Admin token ${text('token')} revoked`;
    default:
      return change.what;
  }
}

function orderText(change: Change): string {
  const order = (typeof change.order === 'object' && change.order !== null ? change.order : {}) as Record<
    string,
    unknown
  >;
  const of = (name: string): string | undefined =>
    typeof order[name] === 'string' ? (order[name] as string) : undefined;
  const kind = of('kind') ?? 'order';
  const about = of('who') ?? of('rule');
  return `${ORDERS[kind] ?? kind}${about === undefined ? '' : ` of ${about}`}`;
}
