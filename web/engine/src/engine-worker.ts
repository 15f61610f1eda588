// The engine worker: it holds the wasm module and the sessions, and runs the decode loop.
import { workerPort } from './platform/here.js';
import { EngineHost } from './engine/host.js';
import { openModule } from './engine/module.js';
import type { ToEngine } from './shared/calls.js';

const port = workerPort();
const host = new EngineHost((message, transfer) => port.post(message, transfer), openModule);

// If the worker's policy forbids compiling, Firefox can't deliver the compiled code. No other message can fail like this.
port.hear(
  (message) => host.handle(message as ToEngine),
  () => host.handle({ type: 'code', code: null }),
);
