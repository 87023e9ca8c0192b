/** Changes on record, so that history, orders and audit trail have something to show. */

import type { Server } from './server.ts';

async function ask(server: Server, path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' };
  const answer = await fetch(server.admin + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}

/** A rule that is changed twice, an order that stands and a bucket that was reset. */
export async function file(server: Server): Promise<void> {
  const rule = (burst: number): string =>
    `name: reports\nscope: user\npath: /api/reports\nrate: 5/m\nburst: ${burst}\n`;
  for (const [version, comment] of ['Reports are dear', 'Two at once are enough'].entries()) {
    const rules = [{ text: rule(5 - 3 * version), active: true, description: null }];
    await ask(server, '/admin/v1/rules/apply', { rules, base_version: version, comment });
  }
  const reason = 'Tries passwords; see the incident of this morning';
  await ask(server, '/admin/v1/orders', {
    kind: 'block',
    who: 'address:198.51.100.77',
    reason,
    expires: '2h',
  });
  const kindness = 'A customer who asked nicely';
  await ask(server, '/admin/v1/buckets/reset', { rule: 'free', key: 'user:customer-7', reason: kindness });
}
