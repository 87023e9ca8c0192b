/** Everything that the dashboard can show, and how one knows that it is there. */

import type { Page } from 'playwright-core';

export interface View {
  readonly name: string;
  readonly path: string;
  readonly isSignedIn: boolean;
  /** Waits until it shows what it is for. */
  readonly ready: (page: Page) => Promise<void>;
}

const shows = (selector: string) => (page: Page) => page.locator(selector).first().waitFor();

const view = (name: string, path: string, ready: View['ready']): View => ({
  name,
  path,
  isSignedIn: true,
  ready,
});

export const VIEWS: readonly View[] = [
  { name: 'sign-in', path: '/', isSignedIn: false, ready: shows('input[type=password]') },
  view('live', '/?minutes=1', async (page) => {
    await page.getByRole('region', { name: 'Violations' }).getByRole('listitem').first().waitFor();
    await page.getByRole('region', { name: 'Top talkers' }).getByRole('listitem').first().waitFor();
  }),
  view('rules', '/rules', async (page) => {
    await page.getByRole('row', { name: /^free/ }).locator('.figures').waitFor();
  }),
  view('rule', '/rules/search', shows('pre')),
  view('editor', '/rules/search', async (page) => {
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByText('Sound, together with all that is in force').waitFor();
  }),
  view('history', '/rules?view=history', async (page) => {
    await page.getByText('What it changed').first().waitFor();
  }),
  view('new-rule', '/rules?new', shows('.cm-content')),
  view('clients', '/clients', shows('td a.mono')),
  view('client', '/clients?key=user:crawler', async (page) => {
    await page.getByRole('meter').first().waitFor();
    await page.getByRole('region', { name: 'Recent denials' }).getByRole('cell').first().waitFor();
  }),
  view('dialog', '/clients?key=user:crawler', async (page) => {
    await page.getByRole('button', { name: 'Block…' }).click();
    await page.getByRole('dialog').waitFor();
  }),
  view('orders', '/clients?view=orders', shows('td.title')),
  view('audit', '/clients?view=audit', shows('td.title')),
  { ...view('playground', '/playground', shows('[data-testid=lane-fixed_window-over]')), isSignedIn: false },
];
