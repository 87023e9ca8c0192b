import type { Page } from 'playwright-core';
import { beforeAll, describe, expect } from 'vitest';
import { PRESETS } from '../src/pages/playground/presets.ts';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

const POLICY = 'rules: [{name: per-user, scope: user, rate: 5/s, burst: 10}]';

type Figure = 'admitted' | 'denied' | 'most' | 'over';

/** A figure of a lane, as the page shows it. */
async function figure(page: Page, lane: string, name: Figure): Promise<number> {
  const shown = page.getByTestId(`lane-${lane}-${name}`);
  await shown.waitFor();
  const value = Number(await shown.getAttribute('data-value'));
  // What programs read is what people see, rounded for them.
  expect(Number((await shown.innerText()).replaceAll(',', ''))).toBeCloseTo(value, 1);
  return value;
}

/** All figures of all lanes, in the order of the page. */
async function figures(page: Page): Promise<string[]> {
  await page.locator('[data-testid^=lane-]').first().waitFor();
  await page.locator('section[aria-label="The run"][aria-busy=false]').waitFor();
  return page
    .locator('[data-testid^=lane-]')
    .evaluateAll((all) => all.map((one) => `${one.dataset.testid} ${one.dataset.value}`));
}

describe('open to everybody', () => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start({ policy: POLICY, playground: 'open' });
    return () => server.stop();
  });

  test('the attack at the window’s turn doubles a fixed window and never a token bucket', async ({
    open,
  }) => {
    const page = await open(server, '/playground?p=double-window', { isSignedIn: false });
    // 50 in 5 s is the quota, and 10/s with a burst of 50 the promise.
    expect(await figure(page, 'fixed_window', 'most')).toBe(100);
    expect(await figure(page, 'fixed_window', 'over')).toBeGreaterThan(39);
    expect(await figure(page, 'token_bucket', 'over')).toBe(0);
    expect(await figure(page, 'token_bucket', 'most')).toBeLessThanOrEqual(50 + 10 * 5);
    expect(await page.getByTestId('promise').innerText()).toContain('50 + 10/s · d');
    for (const lane of ['leaky_bucket', 'sliding_log']) expect(await figure(page, lane, 'over')).toBe(0);

    // Within the second around the turn: all of the attack passes the window, and hardly more than half of it the bucket.
    const trace = await page.evaluate(async () => {
      const lanes = [
        { name: 'bucket', algorithm: 'token_bucket', rate: '10/s', burst: 50 },
        { name: 'window', algorithm: 'fixed_window', quota: 50, window: '5s' },
      ];
      const arrivals = [{ pattern: 'steady', per_second: 100, from_ms: 4_500, to_ms: 5_500, cost: 1 }];
      const promise = { rate: '10/s', burst: 50 };
      const answer = await fetch('/admin/v1/simulate', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ length_ms: 11_000, arrivals, lanes, promise }),
      });
      return ((await answer.json()) as { lanes: { admitted: number }[] }).lanes.map((lane) => lane.admitted);
    });
    expect(trace).toEqual([59, 100]);
  });

  test('every example shows the figures of the service', async ({ open }) => {
    const page = await open(server, '/playground', { isSignedIn: false, isStill: true });
    for (const preset of PRESETS) {
      const told = page.waitForResponse((answer) => answer.url().endsWith('/admin/v1/simulate'));
      // The first is shown from the start.
      if (preset === PRESETS[0]) await page.reload();
      else await page.getByRole('button', { name: preset.title }).click();
      const { lanes } = (await (await told).json()) as {
        lanes: { algorithm: string; admitted: number; denied: number; over_promise: number }[];
      };
      expect(lanes).toHaveLength(preset.scene.lanes.length);
      expect(await page.getByTestId('story').innerText()).toBe(preset.about);
      for (const [at, id] of preset.scene.lanes.entries()) {
        const lane = lanes[at];
        await page.locator(`[data-testid=lane-${id}-admitted][data-value="${lane?.admitted}"]`).waitFor();
        expect(await figure(page, id, 'denied')).toBe(lane?.denied);
        expect(await figure(page, id, 'over')).toBe(lane?.over_promise);
      }
    }
  });

  test('the worked example: the first denial is the sixtieth request', async ({ open }) => {
    const page = await open(server, '/playground?p=worked-example', { isSignedIn: false, isStill: true });
    await page.getByText('The trace as a table').click();
    await page.getByRole('region', { name: 'Trace' }).waitFor();
    const verdicts = await page.locator('table tbody tr td:nth-child(4)').allInnerTexts();
    expect(verdicts.findIndex((verdict) => verdict.startsWith('denied')) + 1).toBe(60);
  });

  test('a burst is fired at the playhead, and a link shows the same to others', async ({ open }) => {
    const page = await open(server, '/playground?p=parking-meter', { isSignedIn: false, isStill: true });
    const before =
      (await figure(page, 'token_bucket', 'admitted')) + (await figure(page, 'token_bucket', 'denied'));
    await page.getByLabel('Moment of the run').fill('30000');
    await page.getByLabel('Requests in the burst').fill('25');
    await page.getByLabel('Requests in the burst').press('Tab');
    await page.getByRole('button', { name: 'Fire a burst' }).click();
    await page.getByText('Burst of 25 at 30 s').waitFor();
    await page.waitForURL(/f=/);
    await expect
      .poll(
        async () =>
          (await figure(page, 'token_bucket', 'admitted')) + (await figure(page, 'token_bucket', 'denied')),
      )
      .toBe(before + 25);

    const [shown, address] = [await figures(page), page.url()];
    const other = await open(server, address.slice(server.admin.length), {
      isSignedIn: false,
      isStill: true,
    });
    await other.getByText('Burst of 25 at 30 s').waitFor();
    expect(await figures(other)).toEqual(shown);
  });

  test('a slider changes what the service is asked', async ({ open }) => {
    const page = await open(server, '/playground?p=worked-example', { isSignedIn: false, isStill: true });
    expect(await figure(page, 'token_bucket', 'admitted')).toBeGreaterThan(90);
    await page.getByLabel('Burst, exactly').fill('5');
    await page.getByLabel('Burst, exactly').press('Tab');
    // 5 at once and 10 each second, for five seconds of which the last moment does not count.
    await page.locator('[data-testid=lane-token_bucket-admitted][data-value="54"]').waitFor();
  });

  test('requests that ask for more than there ever is are told apart from denied ones', async ({ open }) => {
    const page = await open(
      server,
      '/playground?r=10s&b=5&c=50&k=60000&q=5s_10&l=10000&a=steady_20_0&n=t&x=1',
    );
    await page.getByText('200 ask for more than there ever is: never admitted').waitFor();
    expect(await page.getByTestId('lane-token_bucket-denied').getAttribute('data-value')).toBe('200');
  });

  test('a damaged link says so', async ({ open }) => {
    const page = await open(server, '/playground?r=nonsense', { isSignedIn: false, isStill: true });
    await page.getByText('This link is damaged').waitFor();
  });

  test('the tour can be stepped through, and speaks of the figures that are shown', async ({ open }) => {
    const page = await open(server, '/playground', { isSignedIn: false, isStill: true });
    await page.getByRole('button', { name: /^Tour/ }).click();
    const tour = page.getByRole('region', { name: 'Tour' });
    const captions: string[] = [];
    for (;;) {
      captions.push(await page.getByTestId('tour-caption').innerText());
      const next = tour.getByRole('button', { name: 'Next' });
      if ((await next.count()) === 0) break;
      await next.click();
    }
    expect(new Set(captions).size).toBe(8);
    expect(captions.join(' ')).toContain('That makes 100 within a second');
    expect(captions.join(' ')).toContain('0 over the promise');
    await tour.press('ArrowLeft');
    expect(await page.getByTestId('tour-caption').innerText()).toBe(captions.at(-2));
    await page.keyboard.press('Escape');
    await tour.waitFor({ state: 'detached' });
  });

  test('it plays', async ({ open }) => {
    const page = await open(server, '/playground', { isSignedIn: false });
    const moment = (): Promise<string> => page.getByTestId('playhead').innerText();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    const first = await moment();
    await expect.poll(moment).not.toBe(first);
    await page.getByRole('button', { name: 'Pause' }).click();
    const stopped = await moment();
    await page.waitForTimeout(300);
    expect(await moment()).toBe(stopped);
  });

  test('only the playground is open', async ({ open }) => {
    const page = await open(server, '/', { isSignedIn: false });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'playground' }).click();
    expect(await figure(page, 'fixed_window', 'most')).toBe(100);
  });
});

describe('for those who are signed in', () => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start({ policy: POLICY });
    return () => server.stop();
  });

  test('strangers are asked to sign in', async ({ open }) => {
    const page = await open(server, '/playground', { isSignedIn: false });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.locator('[data-testid^=lane-]').count()).toBe(0);
  });

  test('whoever is signed in plays', async ({ open }) => {
    const page = await open(server, '/playground', { isStill: true });
    expect(await figure(page, 'token_bucket', 'over')).toBe(0);
  });
});
