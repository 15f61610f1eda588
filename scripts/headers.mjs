// The headers that the built page is sent with, here (serve.mjs) and by Vite's servers (web/app/vite.config.ts).

/** Cross-origin isolation: shared memory, which threads need. */
export const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Models may come from any address; nothing else may. Nothing is inline, and no form is sent anywhere. */
export const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  'connect-src *',
  "img-src 'self'",
  "style-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
