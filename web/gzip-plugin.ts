import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Files shorter than this, in bytes, are not worth a second form. */
const BYTES_MIN = 1_000;
const TEXTS = /\.(js|css|html|svg|json|webmanifest)$/;

/**
 * Writes a gzipped form beside each text of the page: the service has nothing to compress while it answers. What was written is read
 * again: files are still changed after they were generated.
 */
export function gzipped(): Plugin {
  return {
    name: 'gzipped',
    apply: 'build',
    enforce: 'post',
    writeBundle({ dir }, bundle) {
      for (const fileName of Object.keys(bundle)) {
        const path = join(dir ?? '', fileName);
        const source = TEXTS.test(fileName) ? readFileSync(path) : Buffer.of();
        if (source.length >= BYTES_MIN) writeFileSync(`${path}.gz`, gzipSync(source, { level: 9 }));
      }
    },
  };
}
