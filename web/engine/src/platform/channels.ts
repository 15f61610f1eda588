// How threads talk to each other in a browser.
import type { Channel, WorkerPort } from './platform.js';

/** Null if the browser refuses it, as Firefox does to sites that may not store anything. */
export function openChannel(name: string): Channel | null {
  try {
    return new BroadcastChannel(name);
  } catch {
    return null;
  }
}

export function workerPort(): WorkerPort {
  return {
    post: (message, transfer = []) => globalThis.postMessage(message, { transfer }),
    hear: (hear, lost) => {
      if (lost !== undefined) globalThis.addEventListener('messageerror', lost);
      globalThis.addEventListener('message', ({ data }: MessageEvent<unknown>) => hear(data));
    },
  };
}
