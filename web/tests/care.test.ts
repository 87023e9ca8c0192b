import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect } from 'vitest';
import { openShop, type Shop } from './support/shop.ts';
import { file } from './support/paperwork.ts';
import { keepPicture } from './support/pictures.ts';
import { test } from './support/visit.ts';
import { VIEWS } from './support/views.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PHONE = { width: 360, height: 740 };

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  await file(shop.server);
  return shop.close;
});

/** What axe finds wrong, in words. */
async function wrongs(page: Page): Promise<string[]> {
  // Through the debugger: the page's own policy allows no such script.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run(),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`),
  );
}

describe.each(['light', 'dark'] as const)('in %s colours', (colours) => {
  test.for(VIEWS)(
    'axe finds nothing wrong with $name',
    async ({ name, path, isSignedIn, ready }, { open }) => {
      const page = await open(shop.server, path, { colours, isSignedIn, isStill: true });
      await ready(page);
      await keepPicture(page, `${name}-${colours}`);
      expect(await wrongs(page)).toEqual([]);
    },
  );
});

test.for(VIEWS)('$name fits a phone', async ({ name, path, isSignedIn, ready }, { open }) => {
  const page = await open(shop.server, path, { ...PHONE, isSignedIn, isStill: true });
  await ready(page);
  await keepPicture(page, `${name}-phone`);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(PHONE.width);
});

test.for(VIEWS.filter(({ name }) => ['live', 'rules', 'clients', 'playground'].includes(name)))(
  '$name does not shift while it loads',
  async ({ path, isSignedIn, ready }, { open }) => {
    const page = await open(shop.server, path, { isSignedIn });
    await ready(page);
    const shifted = await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          let sum = 0;
          type Shift = PerformanceEntry & { value: number; hadRecentInput: boolean };
          new PerformanceObserver((list) => {
            for (const shift of list.getEntries() as Shift[]) if (!shift.hadRecentInput) sum += shift.value;
          }).observe({ type: 'layout-shift', buffered: true });
          setTimeout(() => resolve(sum), 500);
        }),
    );
    expect(shifted).toBeLessThan(0.1);
  },
);

test('the keyboard reaches everything, in the order of the page', async ({ open }) => {
  const page = await open(shop.server, '/');
  await page.getByRole('row', { name: /^free/ }).waitFor();
  const reached: string[] = [];
  for (let at = 0; at < 24; at += 1) {
    await page.keyboard.press('Tab');
    reached.push(
      await page.evaluate(() => {
        const focused = document.activeElement as HTMLInputElement | null;
        const label = focused?.labels?.[0]?.textContent ?? focused?.getAttribute('aria-label');
        return (label ?? focused?.textContent ?? '').trim();
      }),
    );
  }
  const wanted = [
    'To the content',
    'Tollgate',
    'Live',
    'Rules',
    'Clients',
    'Playground',
    'Colours',
    'Sign out',
  ];
  expect(reached.slice(0, wanted.length)).toEqual(wanted);
  const rest = reached.slice(wanted.length);
  for (const control of ['5 min', 'Pause', 'Checks per second, by time', 'Filter rules by name']) {
    expect(rest).toContain(control);
  }

  await page.reload();
  await page.getByRole('row', { name: /^free/ }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
});

test('a dialog keeps the keyboard, and gives it back', async ({ open }) => {
  const page = await open(shop.server, '/clients?key=user:crawler');
  await page.getByRole('button', { name: 'Block…' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  for (let at = 0; at < 10; at += 1) {
    await page.keyboard.press('Tab');
    // Between the last control and the first, the browser itself has the keyboard.
    const where = await page.evaluate(() => document.activeElement?.closest('dialog, body')?.tagName);
    const isOutside = await page.evaluate(() => document.activeElement?.matches('main *:not(dialog *)'));
    expect([where, isOutside ?? false]).toEqual([where, false]);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('Block…');
});

test('times are those of the viewer’s zone', async ({ open }) => {
  const clock = async (timeZone: string): Promise<string> => {
    const page = await open(shop.server, '/', { timeZone });
    const time = page.locator('figcaption .time').first();
    await expect.poll(() => time.innerText()).toMatch(/^\d\d:/);
    return time.innerText();
  };
  const minutes = (text: string): number => {
    const [hours, past] = text.split(':').map(Number);
    return (hours ?? 0) * 60 + (past ?? 0);
  };
  const [utc, kolkata] = [minutes(await clock('UTC')), minutes(await clock('Asia/Kolkata'))];
  const ahead = (kolkata - utc + 24 * 60) % (24 * 60);
  expect(ahead).toBeGreaterThanOrEqual(330);
  expect(ahead).toBeLessThanOrEqual(332);
});

test('the colours that were chosen stay', async ({ open }) => {
  const page = await open(shop.server, '/playground', { isStill: true });
  const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByLabel('Colours').selectOption('dark');
  await expect.poll(paper).not.toBe(light);
  const dark = await paper();
  await page.reload();
  await expect.poll(paper).toBe(dark);
});
