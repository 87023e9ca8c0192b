import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { gzipped } from './gzip-plugin.ts';

/** Where `npm run dev` finds a running service: `tollgate demo --live`. */
const ADMIN = process.env.TOLLGATE_ADMIN_URL ?? 'http://127.0.0.1:8082';

export default defineConfig({
  plugins: [svelte(), gzipped()],
  build: {
    target: 'es2022',
    // The policy of the page allows no inline anything: no polyfill, no assets as data.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { '/admin': { target: ADMIN, changeOrigin: true, headers: { origin: ADMIN } } } },
  test: {
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], environment: 'node' } },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['tests/**/*.test.ts'],
          environment: 'node',
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // The page hears of things every second, and a busy machine is slow.
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
});
