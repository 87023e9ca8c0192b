import type { Page } from 'playwright-core';
import { beforeAll, describe, expect } from 'vitest';
import { times, Traffic, type Facts } from './support/clients.ts';
import { Relay } from './support/relay.ts';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

const POLICY = `
name: shop
rules:
  - {name: everyone, scope: global, rate: 10000/s, burst: 20000}
  - {name: per-user, scope: user, rate: 20/s, burst: 20}
  - {name: search-tighter, scope: user, path: /search, rate: 1/s, burst: 2, mode: shadow}
`;
const NOBODY: readonly Facts[] = [];
/** Each asks ten times a second: three who may, and one who asks five times as often. */
const BUSY: readonly Facts[] = [
  ...times(3, (at) => ({ path: '/', user: `polite-${at}` })),
  ...times(5, () => ({ path: '/search', user: 'mallory' })),
];

/** What a figure at the top of the page says, as a number; nothing if there is none yet. */
async function shown(page: Page, label: string): Promise<number> {
  const value = await page.locator('dl div', { has: page.getByText(label, { exact: true }) }).innerText();
  return Number.parseFloat(value.split('\n')[1]?.replaceAll(',', '') ?? '');
}

/** Last, mean and most of a line of the great chart, as those read it who do not see it. */
async function line(page: Page, label: string): Promise<number[]> {
  const table = page.getByRole('table', { name: 'Checks per second', exact: true });
  const cells = table.getByRole('row', { name: new RegExp(`^${label}`) }).getByRole('cell');
  return (await cells.allInnerTexts()).map((text) => Number.parseFloat(text.replaceAll(',', '')));
}

/** What is drawn, in short. */
async function picture(page: Page): Promise<string> {
  return page
    .getByRole('slider', { name: 'Checks per second, by time', exact: true })
    .locator('canvas')
    .evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
}

function standing(page: Page): Promise<string> {
  return page.locator('.head [role=status]').innerText();
}

describe('with a token', () => {
  let server: Server;
  let traffic: Traffic;
  beforeAll(async () => {
    server = await Server.start({ policy: POLICY });
    traffic = new Traffic(server, NOBODY);
    return async () => {
      traffic.stop();
      await server.stop();
    };
  });

  test('the chart moves with the traffic', async ({ open }) => {
    const page = await open(server, '/');
    await page.getByText('Nothing was checked yet').waitFor();
    await expect.poll(() => shown(page, 'Admitted')).toBe(0);
    const still = await picture(page);

    traffic.checks = BUSY;
    await expect.poll(() => shown(page, 'Admitted')).toBeGreaterThan(15);
    await expect.poll(() => shown(page, 'Denied')).toBeGreaterThan(10);
    await expect.poll(() => shown(page, 'Shadow')).toBeGreaterThan(0);
    expect(await shown(page, 'Latency p50')).toBeGreaterThan(0);
    expect(await picture(page)).not.toBe(still);
    const [, , most] = await line(page, 'Admitted');
    expect(most).toBeGreaterThan(15);

    traffic.checks = NOBODY;
    await expect.poll(() => shown(page, 'Admitted')).toBe(0);
    await expect.poll(async () => (await line(page, 'Denied'))[0]).toBe(0);
    traffic.checks = BUSY;
  });

  test('each rule has its figures, and a chart of its own', async ({ open }) => {
    const page = await open(server, '/');
    const row = page.getByRole('row', { name: /^per-user/ });
    const cell = async (at: number): Promise<number> =>
      Number(await row.getByRole('cell').nth(at).innerText());
    await expect.poll(() => cell(0)).toBeGreaterThan(10);
    expect(await cell(1)).toBeGreaterThan(0);
    await row.getByRole('button', { name: 'per-user' }).click();
    await page.getByRole('slider', { name: 'Checks per second of per-user, by time' }).waitFor();
    await page.getByRole('link', { name: 'This rule' }).click();
    await page.getByRole('heading', { name: 'per-user' }).waitFor();
  });

  test('who is denied stands among the violations and the talkers, with a way to the client', async ({
    open,
  }) => {
    const page = await open(server, '/');
    const violations = page.getByRole('region', { name: 'Violations' });
    const first = violations.getByRole('listitem').first();
    await first.waitFor();
    expect(await first.innerText()).toMatch(/user:mallory\s+per-user/);
    const talkers = page.getByRole('region', { name: 'Top talkers' });
    await talkers.getByRole('link', { name: 'user:mallory' }).waitFor();
    await talkers.getByRole('link', { name: 'user:mallory' }).click();
    await page.getByRole('meter', { name: 'Tokens under per-user' }).waitFor();
  });

  test('it can be paused, and goes on', async ({ open }) => {
    const page = await open(server, '/');
    await expect.poll(() => standing(page)).toBe('live');
    await expect.poll(() => shown(page, 'Admitted')).toBeGreaterThan(15);
    await page.getByRole('button', { name: 'Pause' }).click();
    expect(await standing(page)).toBe('paused');
    const stopped = await picture(page);
    await page.waitForTimeout(2_200);
    expect(await picture(page)).toBe(stopped);
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => standing(page)).toBe('live');
    await expect.poll(() => picture(page)).not.toBe(stopped);
  });

  test('a page that nobody sees listens to nothing', async ({ open }) => {
    const page = await open(server, '/');
    await expect.poll(() => standing(page)).toBe('live');
    const hide = (hidden: boolean): Promise<void> =>
      page.evaluate((isHidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    const closed = page.waitForEvent('requestfailed', (request) =>
      request.url().endsWith('/admin/v1/events'),
    );
    await hide(true);
    await closed;
    expect(await standing(page)).toBe('paused');
    const opened = page.waitForRequest((request) => request.url().endsWith('/admin/v1/events'));
    await hide(false);
    await opened;
    await expect.poll(() => standing(page)).toBe('live');
  });

  test('past values are told by pointer and by keyboard, over the time that was chosen', async ({ open }) => {
    const page = await open(server, '/');
    await expect.poll(() => shown(page, 'Admitted')).toBeGreaterThan(15);
    await page.getByText('1 min', { exact: true }).click();
    await page.waitForURL(/minutes=1$/);
    const chart = page.getByRole('slider', { name: 'Checks per second, by time', exact: true });
    await chart.press('ArrowLeft');
    await chart.press('ArrowLeft');
    expect(await chart.getAttribute('aria-valuetext')).toMatch(
      /^\d\d:\d\d:\d\d: Admitted [\d–]+, Denied [\d–]+/,
    );
    await chart.press('Escape');

    const time = page.locator('figcaption .time').first();
    const now = await time.innerText();
    const box = await chart.boundingBox();
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) * 0.6, (box?.y ?? 0) + 60);
    await expect.poll(() => time.innerText()).not.toBe(now);
  });

  test('the past is there when the page is opened', async ({ open }) => {
    const page = await open(server, '/');
    await page.getByRole('row', { name: /^per-user/ }).waitFor();
    // More than this page can have heard by itself.
    const [, , most] = await line(page, 'Admitted');
    expect(most).toBeGreaterThan(15);
  });
});

describe('over a restart of the service', () => {
  let server: Server;
  let traffic: Traffic;
  beforeAll(async () => {
    server = await Server.start({ policy: POLICY, hasToken: false });
    traffic = new Traffic(server, BUSY);
    return async () => {
      traffic.stop();
      await server.stop();
    };
  });

  test('the page says that the connection is lost, and comes back by itself', async ({ open }) => {
    const relay = await Relay.to(server);
    const page = await open(relay.through, '/');
    await expect.poll(() => shown(page, 'Admitted')).toBeGreaterThan(15);
    relay.cut();
    await page.getByText('The service does not answer').waitFor();
    expect(await standing(page)).toBe('connection lost');
    await relay.resume();
    await expect.poll(() => standing(page), { timeout: 30_000 }).toBe('live');
    expect(await page.getByText('The service does not answer').count()).toBe(0);
    const before = await picture(page);
    await expect.poll(() => picture(page)).not.toBe(before);
    relay.cut();
  });

  test('the page says that the service is gone, and asks for the new token when it is back', async ({
    open,
  }) => {
    const page = await open(server, '/');
    await expect.poll(() => shown(page, 'Admitted')).toBeGreaterThan(15);
    await server.halt();
    await page.getByText('The service does not answer').waitFor();
    expect(await standing(page)).toBe('connection lost');
    const lastToken = server.token;
    await server.resume();
    await page.getByText('You are signed out').waitFor({ timeout: 30_000 });
    expect(server.token).not.toBe(lastToken);
    await page.getByLabel('Token').fill(server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(() => standing(page), { timeout: 30_000 }).toBe('live');
    expect(await page.getByText('The service does not answer').count()).toBe(0);
    const before = await picture(page);
    await expect.poll(() => picture(page)).not.toBe(before);
    await expect.poll(() => shown(page, 'Admitted')).toBeGreaterThan(15);
  });
});
