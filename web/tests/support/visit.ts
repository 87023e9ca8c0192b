/**
 * Looks at the page through Chromium. Whatever a page does that it must not do (break its content policy, throw, complain in the console,
 * ask another host) fails the test that opened it.
 */

import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { expect, test as plain } from 'vitest';
import type { Server } from './server.ts';

export interface Look {
  /** By a cookie, as after the sign-in. It is so unless told otherwise, where the service has a token. */
  readonly isSignedIn?: boolean;
  readonly colours?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** What moves stands still, so that what is seen does not depend on the moment. */
  readonly isStill?: boolean;
  readonly timeZone?: string;
}

/** Opens a path of the page in a browser of its own: other cookies, nothing stored. */
export type Open = (server: Server, path: string, look?: Look) => Promise<Page>;

export const ARTEFACTS = fileURLToPath(new URL('../../artefacts', import.meta.url));
const PROGRAM = process.env.TOLLGATE_CHROMIUM ?? '/usr/bin/chromium';
/** For whatever the page should do or show; a busy machine is slow. */
const WAIT_MS_MAX = 20_000;

interface Opened {
  readonly server: Server;
  readonly context: BrowserContext;
}

export const test = plain.extend<{ browser: Browser; open: Open }>({
  browser: [
    async ({}, use) => {
      const browser = await chromium.launch({ executablePath: PROGRAM });
      await use(browser);
      await browser.close();
    },
    { scope: 'file' },
  ],
  open: async ({ browser, task, onTestFailed }, use) => {
    const opened: Opened[] = [];
    const complaints: string[] = [];
    onTestFailed(() => {
      for (const server of new Set(opened.map((one) => one.server))) console.log(server.log);
    });
    await use(async (server, path, look = {}) => {
      const context = await newContext(browser, look);
      opened.push({ server, context });
      await watch(context, server, complaints);
      if (look.isSignedIn !== false && server.token !== '') await signIn(context, server);
      context.setDefaultTimeout(WAIT_MS_MAX);
      const page = await context.newPage();
      await page.goto(server.admin + path);
      return page;
    });
    if (task.result?.state === 'fail') await keep(opened, task.name);
    for (const { context } of opened) await context.close();
    expect(complaints).toEqual([]);
  },
});

async function newContext(browser: Browser, look: Look): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width: look.width ?? 1_280, height: look.height ?? 900 },
    colorScheme: look.colours ?? 'light',
    reducedMotion: look.isStill ? 'reduce' : 'no-preference',
    locale: 'en-GB',
    timezoneId: look.timeZone ?? 'Europe/Berlin',
  });
}

async function signIn(context: BrowserContext, server: Server): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' };
  const answer = await context.request.post(`${server.admin}/admin/v1/session`, { headers, data: {} });
  if (answer.status() !== 201) throw new Error(`cannot sign in: ${answer.status()} ${await answer.text()}`);
}

async function watch(context: BrowserContext, server: Server, complaints: string[]): Promise<void> {
  await context.exposeFunction('tollgateTestsHear', (said: string) => complaints.push(said));
  await context.addInitScript(() => {
    const { tollgateTestsHear } = window as unknown as { tollgateTestsHear: (said: string) => void };
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      tollgateTestsHear(`policy of the content: ${violatedDirective} ${blockedURI} ${sourceFile}`);
    });
  });
  context.on('weberror', (thrown) => complaints.push(`thrown: ${String(thrown.error().stack)}`));
  context.on('console', (message) => {
    // What the service refuses, the browser reports here, too; the page says it to people.
    if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return;
    complaints.push(`console: ${message.text()}`);
  });
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:' && origin !== server.admin) {
      complaints.push(`asks elsewhere: ${request.url()}`);
    }
  });
}

/** What was seen when a test failed. */
async function keep(opened: readonly Opened[], name: string): Promise<void> {
  mkdirSync(ARTEFACTS, { recursive: true });
  const pages = opened.flatMap(({ context }) => context.pages());
  for (const [at, page] of pages.entries()) {
    const path = `${ARTEFACTS}/failed-${name.replaceAll(/\W+/g, '-')}-${at}.png`;
    await page.screenshot({ path }).catch(() => undefined);
  }
}
