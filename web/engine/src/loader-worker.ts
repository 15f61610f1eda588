// The loader worker: reads the source that the page names, for the engine worker. Or answers calls of `cache`.
import { holdLifeline } from './lifeline.js';
import { runLoader } from './loader.js';
import type { FromLoader, ToLoader } from './protocol.js';
import { runCacheCall, type FromCache, type ToCache } from './store/calls.js';

const post = (message: FromLoader | FromCache): void => globalThis.postMessage(message);

globalThis.addEventListener('message', ({ data }: MessageEvent<ToLoader | ToCache>) => {
  // Only the first call of the cache names a lifeline. The page must not hear 'alive' before the worker holds the lock.
  if (data.type === 'open' || data.lifeline !== '')
    void holdLifeline(data.lifeline).then(() => post({ type: 'alive' }));
  if (data.type === 'cache') void runCacheCall(data, post);
  else void runLoader(data, data.port, post);
});
