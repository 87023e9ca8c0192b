/** What the pages look like, for people: kept after every run, and put into the documents when that is asked for. */

import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ARTEFACTS } from './visit.ts';

/** Where the pictures of the documents go: `TOLLGATE_SCREENSHOTS=../docs/images npm run test:browser -- pictures`. */
export const DOCUMENTS = process.env.TOLLGATE_SCREENSHOTS;

/** A picture that everybody downloads who looks at the documents. */
const BYTES_MAX = 200_000;

export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: true });
}

/** As much of the page as fits the window. */
export async function putIntoDocuments(page: Page, name: string): Promise<void> {
  if (DOCUMENTS === undefined) return;
  const path = join(DOCUMENTS, `${name}.png`);
  await page.screenshot({ path });
  const { size } = statSync(path);
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes; ${BYTES_MAX} are the most`);
}
