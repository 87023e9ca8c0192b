/** What the pages look like, for people: kept after every run, and put into the documents when that is asked for. */

import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { ARTEFACTS } from './visit.ts';

/** Where the pictures of the documents go: `TOLLGATE_SCREENSHOTS=../docs/images npm run test:browser -- pictures` makes them anew. */
export const DOCUMENTS = process.env.TOLLGATE_SCREENSHOTS;

/** A picture that everybody downloads who looks at the documents. */
const BYTES_MAX = 200_000;

export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(ARTEFACTS, { recursive: true });
  // What lies over the page covers the window, not the page.
  const hasDialog = (await page.getByRole('dialog').count()) > 0;
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: !hasDialog });
}

/** As much of the page as fits the window, in no more bytes than the documents allow; it is put there if that is asked for. */
export async function keepForDocuments(page: Page, name: string): Promise<void> {
  const folder = DOCUMENTS ?? join(ARTEFACTS, 'documents');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  expect(statSync(path).size).toBeLessThan(BYTES_MAX);
}
