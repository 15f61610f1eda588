// The calls that the page has cancelled, in memory that it shares with the engine worker: while that makes a chat's prompt, it
// takes no messages, and looks here. Where no memory can be shared it has a copy, and makes the prompt to its end.

/** A call's number is in the place that its last 8 bits name; -1 in every place: all calls. So many calls may wait at a time. */
export type Stops = Int32Array;

export function makeStops(): Stops {
  return new Int32Array(new (globalThis.SharedArrayBuffer ?? ArrayBuffer)(1024));
}

export function stopCall(stops: Stops, call: number): void {
  stops[call & 255] = call;
}

export function stopAll(stops: Stops): void {
  stops.fill(-1);
}

export function isStopped(stops: Stops, call: number): boolean {
  const stopped = Atomics.load(stops, call & 255);
  return stopped === call || stopped < 0;
}
