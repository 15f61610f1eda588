// Runs first in each thread of the pool: build.mjs puts it before Emscripten's script in the -mt flavours.
//
// A trap in a thread is an error event. Emscripten's script tells the thread's parent of it, but the engine worker hears
// nothing while it waits in wasm for this very thread. So the thread tells the page, too, over the broadcast channel that
// the fragment of its address names (workers.ts). As long as it lives, it holds a lock of the same name (pool.ts).
const { name, location } = globalThis as unknown as { name: string; location: Location };
const channel = name === 'em-pthread' ? location.hash.slice(1) : '';
if (channel !== '') {
  const forGood = { mode: 'shared' } as const;
  globalThis.navigator.locks
    ?.request(channel, forGood, () => new Promise(() => {}))
    .catch(() => {});
  globalThis.addEventListener('error', (event: ErrorEvent) => {
    new BroadcastChannel(channel).postMessage(event.message);
    // Handled: the console belongs to the page.
    event.preventDefault();
  });
}
export {};
