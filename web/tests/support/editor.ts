/** Writes into the editor of rules. */

import type { Page } from 'playwright-core';

/** Puts a text in place of what is there, as somebody does who selects all and pastes. The browser's own way to replace lines leaves inline styles. */
export async function write(page: Page, text: string): Promise<void> {
  const content = page.locator('.cm-content');
  await content.press('Control+a');
  await content.evaluate((editor, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', pasted);
    editor.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}
