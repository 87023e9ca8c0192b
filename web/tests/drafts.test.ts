import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { write } from './support/editor.ts';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

const POLICY = `
name: shop
rules:
  - {name: per-user, scope: user, rate: 6/m, burst: 10}
  - {name: other, scope: user, rate: 60/m, burst: 100}
`;
const KEPT = /^A draft from \d\d:\d\d was kept/;

let server: Server;
beforeAll(async () => {
  server = await Server.start({ policy: POLICY });
  return () => server.stop();
});

function text(name: string, burst: number): string {
  return `name: ${name}\nscope: user\nrate: 6/m\nburst: ${burst}\n`;
}

async function edit(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Edit…' }).click();
  await page.locator('.cm-content').waitFor();
}

function typed(page: Page): Promise<string> {
  return page.locator('.cm-content').innerText();
}

async function apply(page: Page, why: string): Promise<void> {
  await page.getByRole('button', { name: 'Review the change' }).click();
  await page.getByLabel('Why').fill(why);
  await page.getByRole('button', { name: /^Apply as version/ }).click();
  await page.getByText(/^Version \d+ is applied/).waitFor();
}

test('a draft outlives a link, a reload and the end of the session, until it is applied', async ({
  open,
}) => {
  const page = await open(server, '/rules/per-user');
  await edit(page);
  expect(await page.getByText(KEPT).count()).toBe(0);
  await write(page, text('per-user', 31));

  await page.getByRole('link', { name: 'Live', exact: true }).click();
  await page.getByRole('heading', { name: 'Live', exact: true }).waitFor();
  await page.goBack();
  await page.getByText(KEPT).waitFor();
  await edit(page);
  await page.getByText(KEPT).waitFor();
  expect(await typed(page)).toContain('burst: 31');

  await page.reload();
  await edit(page);
  expect(await typed(page)).toContain('burst: 31');
  await write(page, text('per-user', 32));

  // The sessions of a service end with it.
  await server.halt();
  await server.resume();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('Token').fill(server.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await edit(page);
  expect(await typed(page)).toContain('burst: 32');
  await page.getByText('Sound, together with all that is in force').waitFor();
  await apply(page, 'at last');

  await page.getByText('burst: 32').waitFor();
  await edit(page);
  expect(await page.getByText(KEPT).count()).toBe(0);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('burst');
});

test('a draft that is discarded is gone, and other rules have theirs', async ({ open }) => {
  const page = await open(server, '/rules?new');
  await write(page, text('fresh', 41));
  await page.goto(`${server.admin}/rules/other`);
  await edit(page);
  expect(await typed(page)).toContain('burst: 100');

  await page.goto(`${server.admin}/rules?new`);
  await page.getByText(KEPT).waitFor();
  await expect.poll(() => typed(page)).toContain('burst: 41');
  await page.getByRole('button', { name: 'Discard the draft' }).click();
  await expect.poll(() => typed(page)).toContain('name: my-rule');
  expect(await page.getByText(KEPT).count()).toBe(0);
  await page.reload();
  await page.locator('.cm-content').waitFor();
  expect(await typed(page)).toContain('name: my-rule');
  expect(await page.getByText(KEPT).count()).toBe(0);
});

test('a draft of what somebody changed meanwhile is compared with theirs', async ({ open }) => {
  const [slow, fast] = [await open(server, '/rules/other'), await open(server, '/rules/other')];
  await edit(slow);
  await write(slow, text('other', 51));
  await slow.goto(`${server.admin}/rules`);

  await edit(fast);
  await write(fast, text('other', 52));
  await fast.getByText('Sound, together with all that is in force').waitFor();
  await apply(fast, 'first come');

  await slow.goto(`${server.admin}/rules/other`);
  await slow.getByText('burst: 52').waitFor();
  await edit(slow);
  await slow.getByText('Sound, together with all that is in force').waitFor();
  await slow.getByRole('button', { name: 'Review the change' }).click();
  await slow.getByText('Somebody changed this rule while you did').waitFor();
  const diff = await slow.getByRole('region', { name: /^Difference/ }).innerText();
  expect(diff).toMatch(/removed:\s*burst: 52/);
  expect(diff).toMatch(/added:\s*burst: 51/);
});
