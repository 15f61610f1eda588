// What a thread of the engine worker runs in Node (threads.ts): Emscripten's script, which finds out that it runs in a thread.
//
// Its arguments are the name of a channel, and the script's address. A trap is an uncaught exception. Emscripten's script reports
// it to the engine worker, but that one takes no messages while it waits in wasm for this very thread. So it is also reported to the
// page, over the channel.
const [channel = '', script = ''] = process.argv.slice(2);

process.on('uncaughtExceptionMonitor', (error: unknown) => {
  if (channel === '') return;
  new BroadcastChannel(channel).postMessage(error instanceof Error ? error.message : String(error));
});

await import(script);

export {};
