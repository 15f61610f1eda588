// The loader worker: reads the source that the page names, for the engine worker.
import { holdLifeline } from './lifeline.js';
import { runLoader } from './loader.js';
import type { FromLoader, ToLoader } from './protocol.js';

const alive: FromLoader = { type: 'alive' };

globalThis.addEventListener('message', ({ data }: MessageEvent<ToLoader>) => {
  void holdLifeline(data.lifeline).then(() => globalThis.postMessage(alive));
  void runLoader(data.source, data.stallTimeout, data.port);
});
