// How threads talk to each other in Node.
import { parentPort } from 'node:worker_threads';
import type { Channel, WorkerPort } from '../platform/platform.js';

export { uniqueName } from '../platform/lifeline.js';

/** It reaches all threads of this process. */
export function openChannel(name: string): Channel | null {
  const channel = new BroadcastChannel(name);
  (channel as unknown as { unref(): void }).unref();
  return channel;
}

export function workerPort(): WorkerPort {
  if (parentPort === null) throw new Error('this script runs in a worker only');
  const port = parentPort;
  return {
    post: (message, transfer = []) =>
      port.postMessage(message, transfer as unknown as Parameters<typeof port.postMessage>[1]),
    hear: (hear, lost) => {
      if (lost !== undefined) port.on('messageerror', lost);
      port.on('message', hear);
    },
  };
}

// An event tells that a worker is gone, so there are no lifelines.

export function hasLifelines(): boolean {
  return false;
}

export function lifelineName(): string {
  return '';
}

export function holdLifeline(): Promise<void> {
  return Promise.resolve();
}

export function lifelineCut(): Promise<void> {
  return new Promise(() => {});
}
