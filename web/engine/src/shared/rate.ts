// Bytes per second, of the last few seconds.

/** The default window, in milliseconds. */
const WINDOW_MS = 3000;

export class Rate {
  readonly #samples: { time: number; bytes: number }[] = [];

  constructor(
    readonly now: () => number = () => performance.now(),
    readonly windowMs = WINDOW_MS,
  ) {
    this.#samples.push({ time: now(), bytes: 0 });
  }

  /** `bytes`: the total so far. If it is less than before, a new count begins. */
  perSecond(bytes: number): number {
    const time = this.now();
    if (bytes < (this.#samples.at(-1)?.bytes ?? 0)) this.#samples.length = 0;
    this.#samples.push({ time, bytes });
    while (this.#samples.length > 2 && (this.#samples[1]?.time ?? time) < time - this.windowMs)
      this.#samples.shift();
    const [first] = this.#samples as [{ time: number; bytes: number }];
    const seconds = (time - first.time) / 1000;
    return seconds > 0 ? (bytes - first.bytes) / seconds : 0;
  }
}
