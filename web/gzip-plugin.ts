import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Files shorter than this, in bytes, are not worth a second form. */
const BYTES_MIN = 1_000;
const TEXTS = /\.(js|css|html|svg|json|webmanifest)$/;

/** Writes a gzipped form beside each text of the page, once all of it is written: the service has nothing to compress while it answers. */
export function gzipped(): Plugin {
  return {
    name: 'gzipped',
    apply: 'build',
    async writeBundle(options, bundle) {
      for (const fileName of Object.keys(bundle).filter((name) => TEXTS.test(name))) {
        const path = join(options.dir ?? 'dist', fileName);
        const text = await readFile(path);
        if (text.length >= BYTES_MIN) await writeFile(`${path}.gz`, gzipSync(text, { level: 9 }));
      }
    },
  };
}
