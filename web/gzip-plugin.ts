import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Files shorter than this, in bytes, are not worth a second form. */
const BYTES_MIN = 1_000;
const TEXTS = /\.(js|css|html|svg|json|webmanifest)$/;

/** Writes a gzipped form beside each text of the page: the service has nothing to compress while it answers. */
export function gzipped(): Plugin {
  return {
    name: 'gzipped',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      for (const [fileName, file] of Object.entries(bundle)) {
        const source = Buffer.from(file.type === 'chunk' ? file.code : file.source);
        if (TEXTS.test(fileName) && source.length >= BYTES_MIN) {
          this.emitFile({
            type: 'asset',
            fileName: `${fileName}.gz`,
            source: gzipSync(source, { level: 9 }),
          });
        }
      }
    },
  };
}
