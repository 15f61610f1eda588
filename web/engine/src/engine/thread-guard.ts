// Runs first in each thread of the pool: build.mjs puts it before Emscripten's script in the -mt flavours.
//
// A trap in a thread is an error event. Emscripten's script reports it to the thread's parent, but the engine worker takes no
// messages while it waits in wasm for this very thread. So the thread also reports it to the page, over the broadcast channel
// that the fragment of its address names (workers.ts). While it lives, it holds a lock of the same name (pool.ts).
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
