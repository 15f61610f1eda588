// The library's message for each way in which a server misbehaves (servers.ts), the same in every browser.
import type { ErrorCode } from '@sluice/engine';
import type { Fault } from './servers';

export interface Outcome {
  code: ErrorCode;
  message: RegExp;
}

export const FAULTS: Record<Fault, Outcome> = {
  missing: { code: 'download_failed', message: /404/ },
  error: { code: 'download_failed', message: /503/ },
  'no-cors': { code: 'download_failed', message: /CORS/ },
  html: { code: 'bad_file', message: /web page/ },
  garbage: { code: 'bad_file', message: /GGUF/ },
  broken: { code: 'bad_file', message: /./ },
  short: { code: 'download_failed', message: /of 2578944/ },
  stalled: { code: 'download_failed', message: /no byte came for/ },
  empty: { code: 'bad_file', message: /sent is empty \(0 bytes\)/ },
  'no-content': { code: 'download_failed', message: /answered 204/ },
  'reset-content': { code: 'download_failed', message: /answered 205/ },
  'not-modified': { code: 'download_failed', message: /answered 304/ },
  circle: { code: 'download_failed', message: /it redirects to where .* in a circle/ },
};
