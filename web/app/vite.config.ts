import { defineConfig } from 'vite';

// The headers that the page is meant to be served with: cross-origin isolation (shared memory, and so
// threads) and a strict Content-Security-Policy. scripts/serve.mjs sends the same with the built page.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
const policy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; " +
  "img-src 'self'; connect-src *; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export default defineConfig({
  base: './',
  server: { headers },
  preview: { headers: { ...headers, 'Content-Security-Policy': policy } },
  // The library is taken as it is built, workers and wasm files beside it.
  optimizeDeps: { exclude: ['@sluice/engine'] },
  worker: { format: 'es' },
  build: {
    outDir: 'dist',
    target: 'es2022',
    cssTarget: ['chrome100', 'safari16'],
    // Nothing inline: the policy above allows no inline script and no data: address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
