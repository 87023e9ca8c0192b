import { beforeAll, expect } from 'vitest';
import { write } from './support/editor.ts';
import { file } from './support/paperwork.ts';
import { DOCUMENTS, keepForDocuments } from './support/pictures.ts';
import { openShop, type Shop } from './support/shop.ts';
import { test } from './support/visit.ts';

/** Until the chart of a minute is full. */
const MINUTE_MS = 65_000;

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  await file(shop.server);
  if (DOCUMENTS !== undefined) await new Promise((resolve) => setTimeout(resolve, MINUTE_MS));
  return shop.close;
}, 2 * MINUTE_MS);

test.for(['light', 'dark'] as const)('live, %s', async (colours, { open }) => {
  const page = await open(shop.server, '/?minutes=1', { colours, isStill: true });
  await page.getByRole('region', { name: 'Top talkers' }).getByRole('listitem').first().waitFor();
  await expect.poll(() => page.locator('dl .value').first().innerText()).toMatch(/\d/);
  await keepForDocuments(page, `live-${colours}`);
});

test('playground', async ({ open }) => {
  const page = await open(shop.server, '/playground', { isStill: true, height: 860 });
  await page.getByTestId('lane-fixed_window-over').waitFor();
  await keepForDocuments(page, 'playground');
});

test('rules', async ({ open }) => {
  const page = await open(shop.server, '/rules/search', { isStill: true, height: 760 });
  await page.getByRole('button', { name: 'Edit…' }).click();
  await write(page, 'name: search\nscope: user\npath: /api/search\nrate: 3/s\nburst: 0\n');
  await page.getByText('1 mistake, found by the service').waitFor();
  await keepForDocuments(page, 'rules');
});

test('clients', async ({ open }) => {
  const page = await open(shop.server, '/clients?key=user:crawler', { isStill: true, height: 860 });
  await page.getByRole('region', { name: 'Recent denials' }).getByRole('cell').first().waitFor();
  await keepForDocuments(page, 'clients');
});

test('phone', async ({ open }) => {
  const page = await open(shop.server, '/?minutes=1', { width: 390, height: 844, isStill: true });
  await expect.poll(() => page.locator('dl .value').first().innerText()).toMatch(/\d/);
  await keepForDocuments(page, 'phone');
});
