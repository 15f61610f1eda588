// The engine worker: the wasm module and the session live here, and so does the decode loop.
import { EngineHost } from './host.js';
import { openModule } from './module.js';
import type { ToEngine } from './protocol.js';

const host = new EngineHost((message) => globalThis.postMessage(message), openModule);

// Firefox brings no compiled code to a worker whose policy forbids to compile; nothing else can fail so.
globalThis.addEventListener('messageerror', () => host.handle({ type: 'code', code: null }));
globalThis.addEventListener('message', ({ data }: MessageEvent<ToEngine>) => host.handle(data));
