// The calls that the page has cancelled, in memory that it shares with the engine worker: while that makes a chat's prompt, it
// takes no messages, and looks here. Where no memory can be shared it has a copy, and makes the prompt to its end.

/** A call's number is in the place that its last bits name; ALL in every place: all calls. */
export type Stops = Int32Array;

/** So many calls may wait behind one whose prompt is made. */
const PLACES = 256;
const ALL = -1;

export function makeStops(): Stops {
  return new Int32Array(new (globalThis.SharedArrayBuffer ?? ArrayBuffer)(4 * PLACES));
}

export function stopCall(stops: Stops, call: number): void {
  Atomics.store(stops, call % PLACES, call);
}

export function stopAll(stops: Stops): void {
  stops.fill(ALL);
}

export function isStopped(stops: Stops, call: number): boolean {
  return [call, ALL].includes(Atomics.load(stops, call % PLACES));
}
