import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { admittedOf, times, Traffic } from './support/clients.ts';
import { write } from './support/editor.ts';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

const POLICY = `
name: shop
rules:
  - {name: everyone, scope: global, rate: 10000/s, burst: 20000}
  - {name: per-user, scope: user, rate: 30/m, burst: 10}
  - group: plans
    combine: first
    rules:
      - {name: pro, scope: user, plan: pro, rate: 100/s, burst: 500}
      - {name: free, scope: user, rate: 50/s, burst: 100}
`;

let server: Server;
let traffic: Traffic;
beforeAll(async () => {
  server = await Server.start({ policy: POLICY });
  traffic = new Traffic(
    server,
    times(5, () => ({ path: '/', user: 'mallory' })),
  );
  return async () => {
    traffic.stop();
    await server.stop();
  };
});

/** Nobody has asked for these before: their buckets are full. */
let strangers = 0;
function stranger(): string {
  strangers += 1;
  return `stranger-${strangers}`;
}

/** Opens the editor of a rule, writes, compares and applies. */
async function change(page: Page, text: string, why: string): Promise<void> {
  await page.getByRole('button', { name: 'Edit…' }).click();
  await write(page, text);
  await page.getByText('Sound, together with all that is in force').waitFor();
  await page.getByRole('button', { name: 'Review the change' }).click();
  await page.getByLabel('Why').fill(why);
  await page.getByRole('button', { name: /^Apply as version/ }).click();
  await page.getByText(/^Version \d+ is applied/).waitFor();
}

test('the rules in force are listed with their tiers, their limits and their traffic', async ({ open }) => {
  const page = await open(server, '/rules');
  const row = page.getByRole('row', { name: /^per-user/ });
  await row.waitFor();
  expect(await row.innerText()).toContain('enforced');
  await page.getByText('Group plans: the first that matches applies').waitFor();
  await page.getByRole('row', { name: /^pro/ }).waitFor();
  await expect.poll(() => row.innerText()).toMatch(/[1-9]\d*\s+denied/);
});

test('a rule that is edited in the page is in force: a real client is told 429', async ({ open }) => {
  expect(await admittedOf(server, 4, { path: '/', user: stranger() })).toBe(4);
  const page = await open(server, '/rules/per-user');
  await page.getByRole('button', { name: 'Edit…' }).click();
  await write(page, 'name: per-user\nscope: user\nrate: 30/m\nburst: 3\n');
  await page.getByText('Sound, together with all that is in force').waitFor();
  await page.getByRole('button', { name: 'Review the change' }).click();

  const diff = page.getByRole('region', { name: /^Difference/ });
  expect(await diff.innerText()).toMatch(/removed:\s*burst: 10/);
  expect(await diff.innerText()).toMatch(/added:\s*burst: 3/);
  await page.getByLabel('Why').fill('three are enough');
  await page.getByRole('button', { name: 'Apply as version 1' }).click();
  await page.getByText('Version 1 is applied').waitFor();
  await expect.poll(() => admittedOf(server, 5, { path: '/', user: stranger() })).toBe(3);
  await page.getByText('On record, version 1').waitFor();
});

test('a mistake is shown at its line, in the words of the service', async ({ open }) => {
  const page = await open(server, '/rules/per-user');
  await page.getByRole('button', { name: 'Edit…' }).click();
  await write(page, 'name: per-user\nscope: user\nrate: 30/m\nburst: 0\n');
  await page.getByText('1 mistake, found by the service').waitFor();
  const said = await page.locator('.judgement').innerText();
  expect(said).toContain('Line 4');
  expect(said).toContain('`burst` is 0');
  expect(await page.locator('.cm-line', { has: page.locator('.cm-lintRange-error') }).innerText()).toBe(
    'burst: 0',
  );
  expect(await page.locator('.cm-lint-marker-error').count()).toBe(1);
  expect(await page.getByRole('button', { name: 'Review the change' }).isDisabled()).toBe(true);

  // Something that is no rule at all.
  await write(page, 'name: per-user\nscope: user\nrat: 30/m\nburst: 3\n');
  await page.getByText('rat').last().waitFor();
  await expect.poll(() => page.locator('.judgement').innerText()).toContain('Line 3');
});

test('the editor completes what the schema knows', async ({ open }) => {
  const page = await open(server, '/rules?new');
  await page.locator('.cm-content').waitFor();
  await write(page, 'name: fresh\nscope: user\nrate: 1/s\nburst: 5\n');
  await page.locator('.cm-content').press('Control+End');
  await page.locator('.cm-content').pressSequentially('mo');
  await page.keyboard.press('Control+Space');
  await page.locator('.cm-tooltip-autocomplete').getByText('mode', { exact: true }).waitFor();
});

test('a new rule is made, listed, and deleted', async ({ open }) => {
  const page = await open(server, '/rules?new');
  await write(page, 'name: exports\nscope: user\npath: /export\nrate: 1/m\nburst: 1\n');
  await page.getByText('Sound, together with all that is in force').waitFor();
  await page.getByRole('button', { name: 'Review the change' }).click();
  await page.getByLabel('Why').fill('exports are dear');
  await page.getByRole('button', { name: /^Apply as version/ }).click();
  await page.getByRole('heading', { name: 'exports' }).waitFor();
  await expect.poll(() => admittedOf(server, 2, { path: '/export', user: stranger() })).toBe(1);

  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByLabel('Why').fill('not so dear');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect.poll(() => admittedOf(server, 2, { path: '/export', user: stranger() })).toBe(2);
});

test('the history says who changed what and why, and a roll back brings it back', async ({ open }) => {
  const page = await open(server, '/rules/per-user');
  await change(page, 'name: per-user\nscope: user\nrate: 30/m\nburst: 2\n', 'two, for a try');
  await expect.poll(() => admittedOf(server, 5, { path: '/', user: stranger() })).toBe(2);

  await page.getByRole('link', { name: 'History' }).click();
  const latest = page.getByRole('listitem').first();
  await latest.getByText('two, for a try').waitFor();
  expect(await latest.innerText()).toMatch(/in force[\s\S]*browser-admin/);
  await latest.getByText('What it changed').click();
  await latest.getByText('burst: 2').waitFor();

  await page.getByRole('listitem').filter({ hasText: 'three are enough' }).getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('region', { name: /^Difference/ }).waitFor();
  await dialog.getByLabel('Why').fill('two were too few');
  await dialog.getByRole('button', { name: 'Roll back' }).click();
  await page.getByText(/^Rolled back to version 1/).waitFor();
  await expect.poll(() => admittedOf(server, 5, { path: '/', user: stranger() })).toBe(3);
});

test('whoever comes second is shown what the first has done', async ({ open }) => {
  const [slow, fast] = [await open(server, '/rules/pro'), await open(server, '/rules/pro')];
  const group = (burst: number): string =>
    `group: plans\ncombine: first\nrules:\n  - {name: pro, scope: user, plan: pro, rate: 100/s, burst: ${burst}}\n` +
    '  - {name: free, scope: user, rate: 50/s, burst: 100}\n';
  await slow.getByRole('button', { name: 'Edit…' }).click();
  await write(slow, group(300));
  await slow.getByText('Sound, together with all that is in force').waitFor();
  await change(fast, group(400), 'first come');

  await slow.getByRole('button', { name: 'Review the change' }).click();
  await slow.getByText('Somebody changed this rule while you did').waitFor();
  const diff = await slow.getByRole('region', { name: /^Difference/ }).innerText();
  expect(diff).toContain('burst: 400');
  expect(diff).toContain('burst: 300');
  await slow.getByRole('button', { name: 'Keep mine, and compare' }).click();
  await slow.getByLabel('Why').fill('after a look at theirs');
  await slow.getByRole('button', { name: /^Apply as version/ }).click();
  await slow.getByText(/^Version \d+ is applied/).waitFor();
});
