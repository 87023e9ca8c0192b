import { beforeAll, expect } from 'vitest';
import { times, Traffic } from './support/clients.ts';
import { Server } from './support/server.ts';
import { test } from './support/visit.ts';

const RULES = 200;
const WATCHED_MS = 10_000;
/** No promise of speed: a page that hangs is found on the slowest machine, and the figure is printed for whoever wants to know. */
const TASK_MS_MAX = 500;

const rule = (at: number): string =>
  `  - {name: rule-${at}, scope: user, path: /path-${at}, rate: ${1 + (at % 7)}/s, burst: 5}`;

let server: Server;
let traffic: Traffic;
beforeAll(async () => {
  server = await Server.start({ policy: `name: many\nrules:\n${times(RULES, rule).join('\n')}\n` });
  traffic = new Traffic(
    server,
    times(RULES, (at) => ({ path: `/path-${at}`, user: 'ann' })),
  );
  return async () => {
    traffic.stop();
    await server.stop();
  };
});

test('two hundred rules, every second, and the page does not hang', async ({ open }) => {
  const page = await open(server, '/');
  await page.getByRole('button', { name: `Show all ${RULES} rules` }).click();
  await expect.poll(() => page.getByRole('row', { name: /^rule-/ }).count()).toBe(RULES);
  const first = page
    .getByRole('row', { name: /^rule-/ })
    .first()
    .getByRole('cell')
    .first();
  await expect.poll(async () => Number(await first.innerText())).toBeGreaterThan(0);

  const { longest, seconds } = await page.evaluate(
    (watchedMs) =>
      new Promise<{ longest: number; seconds: number }>((resolve) => {
        const clock = document.querySelector('figcaption .time');
        const seen = new Set<string>();
        let longest = 0;
        new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
        }).observe({ type: 'longtask' });
        const look = setInterval(() => seen.add(clock?.textContent ?? ''), 100);
        setTimeout(() => {
          clearInterval(look);
          resolve({ longest, seconds: seen.size });
        }, watchedMs);
      }),
    WATCHED_MS,
  );
  console.log(
    `${RULES} rules: the longest task within ${WATCHED_MS / 1_000} s took ${Math.round(longest)} ms`,
  );
  // It went on all the time.
  expect(seconds).toBeGreaterThanOrEqual(WATCHED_MS / 1_000 - 3);
  expect(longest).toBeLessThan(TASK_MS_MAX);
});
