import { beforeAll, expect } from 'vitest';
import { admittedOf } from './support/clients.ts';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

const POLICY = `
name: shop
rules:
  - {name: per-user, scope: user, rate: 1/h, burst: 2}
`;
const SETTLE = { timeout: 15_000 };
/** Looks like `admin` where its second character is obeyed, and its last is not there for the eye. */
const USER = 'x\u202enimda\u200b';
const SHOWN = 'user:x\\u{202e}nimda\\u{200b}';
const UNSEEN = /[\u202e\u200b]/;

let server: Server;
beforeAll(async () => {
  server = await Server.start({ policy: POLICY });
  return () => server.stop();
});

test('what nobody would see in a key or a reason is written out, and links lead to the true key', async ({
  open,
}) => {
  expect(await admittedOf(server, 6, { user: USER, path: '/a\u202eb' })).toBe(2);
  const page = await open(server, '/');
  const main = page.getByRole('main');
  await expect.poll(() => main.innerText(), SETTLE).toContain('/a\\u{202e}b');
  expect(await main.innerText()).not.toMatch(UNSEEN);

  await page.goto(`${server.admin}/clients`);
  await page.getByRole('link', { name: SHOWN }).first().click();
  await page.getByRole('heading', { name: SHOWN }).waitFor();
  expect(new URL(page.url()).searchParams.get('key')).toBe(`user:${USER}`);
  const denials = page.getByRole('region', { name: 'Recent denials' });
  await expect.poll(() => denials.innerText(), SETTLE).toContain('/a\\u{202e}b');

  await page.getByRole('button', { name: 'Block…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Why').fill('no \u202ereason');
  await dialog.getByRole('button', { name: 'Block', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  for (const view of ['orders', 'audit']) {
    await page.goto(`${server.admin}/clients?view=${view}`);
    await page.getByText('no \\u{202e}reason').first().waitFor();
    expect(await main.innerText()).not.toMatch(UNSEEN);
  }
  const why = page.getByText('no \\u{202e}reason').first();
  expect(await why.evaluate((shown) => getComputedStyle(shown).unicodeBidi)).toBe('isolate');
});
