// The engine worker: it holds the wasm module and the sessions, and runs the decode loop.
import { EngineHost } from './host.js';
import { openModule } from './module.js';
import type { ToEngine } from './protocol.js';

const host = new EngineHost(
  (message, transfer = []) => globalThis.postMessage(message, { transfer }),
  openModule,
);

// If the worker's policy forbids compiling, Firefox can't deliver the compiled code. No other message can fail like this.
globalThis.addEventListener('messageerror', () => host.handle({ type: 'code', code: null }));
globalThis.addEventListener('message', ({ data }: MessageEvent<ToEngine>) => host.handle(data));
