// Draws the texts of a conversation in slices, so that a long one doesn't hold up the page: the last one first, since
// that is where a conversation is opened.

/** Draws a part; true: it was the last one. */
export type Step = () => boolean;

/** So long may drawing hold up one frame, in milliseconds. */
const SLICE = 12;
const waiting: Step[] = [];
let asked = false;

function work(): void {
  const begun = performance.now();
  for (let step = waiting.at(-1); step !== undefined; step = waiting.at(-1)) {
    // Before it runs: it may put further ones on the stack.
    if (step()) waiting.splice(waiting.indexOf(step), 1);
    if (performance.now() - begun < SLICE) continue;
    if (waiting.length > 0) {
      setTimeout(work);
      return;
    }
  }
  asked = false;
}

/**
 * Takes the steps until one says that it is the last: the first of them before the next frame, as long as a slice lasts.
 * What was given last begins. Returns what ends it before that.
 */
export function drawLater(step: Step): () => void {
  waiting.push(step);
  if (!asked) {
    asked = true;
    queueMicrotask(work);
  }
  return () => {
    const at = waiting.indexOf(step);
    if (at >= 0) waiting.splice(at, 1);
  };
}
