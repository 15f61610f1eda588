// The engine worker: the wasm module and the session live here, and so does the decode loop.
import { EngineHost } from './host.js';
import { openModule } from './module.js';
import type { ToEngine } from './protocol.js';

const host = new EngineHost((message) => globalThis.postMessage(message), openModule);

globalThis.addEventListener('message', ({ data }: MessageEvent<ToEngine>) => host.handle(data));
