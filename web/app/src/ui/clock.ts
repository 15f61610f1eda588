// Time, as whoever waits for it is given it: the page's own, or that of a test.

export interface Clock {
  /** Milliseconds since some time. */
  now(): number;
  /** Calls `work` before the next frame is drawn: while the page is hidden that is not before it is seen again. Returns what takes it back. */
  frame(work: () => void): () => void;
  /** Calls `work` after so many milliseconds. Returns what takes it back. */
  after(ms: number, work: () => void): () => void;
}

export const clock: Clock = {
  now: () => performance.now(),
  frame: (work) => {
    const frame = requestAnimationFrame(work);
    return () => cancelAnimationFrame(frame);
  },
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
