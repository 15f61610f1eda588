// What a loader worker does for each call: it reads a source for an engine worker, or answers for the cache.
import type { LoaderCalls } from '../shared/calls.js';
import type { Handlers } from '../shared/replies.js';
import { CACHE_HANDLERS } from './cache-calls.js';
import { runLoader, type OpenPath } from './loader.js';

/** `openPath`: on a platform that reads paths. */
export function loaderHandlers(openPath?: OpenPath): Handlers<LoaderCalls> {
  return {
    ...CACHE_HANDLERS,
    async read({ port, ...request }, reply) {
      await runLoader(request, port, (news) => reply.item(news), openPath);
      return undefined;
    },
  };
}
