// The loader worker: reads the source that the page names, for the engine worker.
import { holdLifeline } from './lifeline.js';
import { runLoader } from './loader.js';
import type { FromLoader, ToLoader } from './protocol.js';

const post = (message: FromLoader): void => globalThis.postMessage(message);

globalThis.addEventListener('message', ({ data }: MessageEvent<ToLoader>) => {
  void holdLifeline(data.lifeline).then(() => post({ type: 'alive' }));
  void runLoader(data, data.port, post);
});
