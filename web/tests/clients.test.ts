import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { admittedOf, check, peek } from './support/clients.ts';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

/** So slow that nothing refills by itself while a test runs. */
const POLICY = `
name: shop
rules:
  - {name: per-user, scope: user, rate: 1/h, burst: 8}
  - {name: watched, scope: user, rate: 1/h, burst: 2, mode: shadow}
  - {name: login, scope: ip, path: /login, rate: 1/h, burst: 5}
`;

let server: Server;
beforeAll(async () => {
  server = await Server.start({ policy: POLICY });
  return () => server.stop();
});

async function search(page: Page, key: string): Promise<void> {
  await page.getByLabel('Client', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('heading', { name: key, exact: true }).waitFor();
}

function tokens(page: Page, gauge: string): Promise<number> {
  const meter = page.getByRole('meter', { name: gauge, exact: true });
  return meter.getAttribute('aria-valuenow').then(Number);
}

/** Answers the dialog that is open. */
async function answer(page: Page, why: string, verb: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Why').fill(why);
  await dialog.getByRole('button', { name: verb, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

test('a client is found by its key, and its buckets are shown as the service has them', async ({ open }) => {
  expect(await admittedOf(server, 10, { user: 'ann', path: '/' })).toBe(8);
  const page = await open(server, '/clients');
  await page.getByRole('link', { name: 'user:ann' }).first().waitFor();
  await search(page, 'user:ann');
  await page.waitForURL(/user%3Aann|user:ann/);
  await expect.poll(() => tokens(page, 'Tokens under per-user')).toBeLessThan(1);
  await page.getByRole('meter', { name: 'Tokens under watched, of the shadow' }).waitFor();
  expect(await page.getByText('of 8 tokens').count()).toBe(1);
  const card = page.getByRole('region', { name: 'Under per-user' });
  expect(await card.innerText()).toMatch(/Last minute: 8 admitted · 2 denied/);
  const denials = page.getByRole('region', { name: 'Recent denials' });
  await expect.poll(() => denials.innerText()).toContain('per-user');

  await search(page, '192.0.2.7');
  expect(await tokens(page, 'Tokens under login')).toBe(5);
});

test('a reset from the page fills the bucket', async ({ open }) => {
  await admittedOf(server, 9, { user: 'bob', path: '/' });
  expect((await check(server, { user: 'bob', path: '/' })).status).toBe(429);
  const page = await open(server, '/clients?key=user:bob');
  const card = page.getByRole('region', { name: 'Under per-user' });
  await card.getByRole('button', { name: 'Reset…' }).click();
  await answer(page, 'an honest mistake', 'Reset');
  await page.getByText('The bucket under per-user is full again.').waitFor();
  await expect.poll(() => tokens(page, 'Tokens under per-user')).toBe(8);
  expect((await peek(server, { user: 'bob', path: '/' })).remaining).toBeGreaterThanOrEqual(7);
  expect(await admittedOf(server, 10, { user: 'bob', path: '/' })).toBe(8);
});

test('a grant gives so many, and an override another limit', async ({ open }) => {
  await admittedOf(server, 9, { user: 'carol', path: '/' });
  const page = await open(server, '/clients?key=user:carol');
  const card = page.getByRole('region', { name: 'Under per-user' });
  await card.getByRole('button', { name: 'Grant…' }).click();
  await page.getByLabel('Tokens', { exact: true }).fill('3');
  await answer(page, 'a sorry', 'Grant');
  expect(await admittedOf(server, 5, { user: 'carol', path: '/' })).toBe(3);

  await card.getByRole('button', { name: 'Override…' }).click();
  await page.getByLabel('Rate').fill('1000/s');
  await page.getByLabel('Burst').fill('1000');
  await answer(page, 'a big customer', 'Override');
  await expect.poll(() => admittedOf(server, 20, { user: 'carol', path: '/' })).toBe(20);
});

test('a client that is blocked is refused until the order ends', async ({ open }) => {
  expect((await check(server, { user: 'eve', path: '/' })).status).toBe(200);
  const page = await open(server, '/clients?key=user:eve');
  await page.getByRole('button', { name: 'Block…' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Block', exact: true }).isDisabled()).toBe(true);
  await dialog.getByLabel('How long').selectOption('for an hour');
  await answer(page, 'credential stuffing', 'Block');
  await page.getByText(/^Order \d+ is given/).waitFor();
  await expect.poll(async () => (await check(server, { user: 'eve', path: '/' })).status).toBe(403);

  const orders = page.getByRole('region', { name: 'Standing orders' });
  await expect.poll(() => orders.innerText()).toContain('credential stuffing');
  expect(await orders.innerText()).not.toContain('ended by hand');
  expect(await page.getByText('blocked', { exact: true }).count()).toBe(1);

  await orders.getByRole('button', { name: /^End/ }).click();
  await answer(page, 'it was us', 'End it');
  await expect.poll(async () => (await check(server, { user: 'eve', path: '/' })).status).toBe(200);
});

test('the audit trail says who did it, to whom and why', async ({ open }) => {
  const page = await open(server, '/clients?view=audit');
  const line = (what: string): Promise<string> =>
    page.getByRole('row').filter({ hasText: what }).first().innerText();
  await page.getByText('an honest mistake').waitFor();
  expect(await line('an honest mistake')).toMatch(/browser-admin[\s\S]*bucket\.reset[\s\S]*user:bob/);
  const given = page.getByRole('row').filter({ hasText: 'order.give' }).filter({ hasText: 'stuffing' });
  expect(await given.innerText()).toMatch(/browser-admin[\s\S]*credential stuffing/);
  await page.getByLabel('Did what').selectOption('bucket.grant');
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect.poll(() => page.getByText('credential stuffing').count()).toBe(0);
  expect(await page.getByText('a sorry').count()).toBe(1);
});

test('a key that no rule takes is said to be so', async ({ open }) => {
  const page = await open(server, '/clients');
  await page.getByLabel('Client', { exact: true }).fill('header:x-nothing=1');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByText('No rule in force takes such a key').waitFor();
});

test('whoever may only look is told so, and offered nothing else', async ({ open }) => {
  const token = server.makeToken('viewer');
  const page = await open(server, `/clients?key=user:ann#sign-in=${token}`, { isSignedIn: false });
  await page.getByRole('meter', { name: 'Tokens under per-user' }).waitFor();
  expect(await page.getByRole('button', { name: /^(Reset|Grant|Override|Block)/ }).count()).toBe(0);
  await page.getByText(/reset, grant, override or block/).waitFor();
});

test('clients that chose their names to be mistaken for others are told apart', async ({ open }) => {
  // Cut off where they are shown, both read alike; and one would read `live` if it were obeyed.
  const alike = 'm'.repeat(200);
  for (const user of [`${alike}1`, `${alike}2`, '\u202eevil'])
    await admittedOf(server, 12, { user, path: '/' });
  const page = await open(server, '/clients');
  const talkers = page.getByRole('table');
  await talkers
    .getByRole('link', { name: /^user:m+…$/ })
    .nth(1)
    .waitFor();
  await talkers.getByRole('link', { name: 'user:\\u{202e}evil' }).first().click();
  await page.getByRole('heading', { name: 'user:\\u{202e}evil', exact: true }).waitFor();
  await expect.poll(() => tokens(page, 'Tokens under per-user')).toBeLessThan(1);
});
