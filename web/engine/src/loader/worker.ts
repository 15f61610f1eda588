// What a loader worker does: it reads the source that the page names, for the engine worker. Or it answers calls of `cache`.
import type { WorkerPort } from '../platform/platform.js';
import type { ToLoader } from '../shared/calls.js';
import { Replies } from '../shared/replies.js';
import { loaderHandlers } from './handlers.js';
import type { OpenPath } from './loader.js';

/** `openPath`: on a platform that reads paths. */
export function runLoaderWorker(port: WorkerPort, openPath?: OpenPath): void {
  const replies = new Replies(loaderHandlers(openPath), (message, transfer) =>
    port.post(message, transfer),
  );
  port.hear((message) => replies.handle(message as ToLoader));
}
