// How the parts of a model are doing: from the engine worker to the page's onWeights.
import { Rate } from './rate.js';
import type { SlotView } from './types.js';

/** Numbers for each part (EngineHandle.slots). */
const FIELDS = 6;
const KINDS = ['embedding', 'layer', 'head', 'table'] as const;
const STATES = ['absent', 'arriving', 'resident', 'computing'] as const;
/** The page is told no more often than this, in milliseconds. */
const TELL_MS = 100;
/** The rate is that of so many milliseconds. */
const RATE_MS = 1000;

/** The parts from the numbers of EngineHandle.slots. */
export function slotViews(slots: Float64Array): SlotView[] {
  return Array.from({ length: slots.length / FIELDS }, (_, i) => {
    const at = FIELDS * i;
    const [kind = 0, bytes = 0, arrived = 0, state = 0, turns = 0, fills = 0] = slots.subarray(at);
    return {
      kind: KINDS[kind] ?? 'layer',
      bytes,
      arrived,
      state: STATES[state] ?? 'absent',
      reread: turns !== 0,
      streamed: turns !== 0,
      fills,
    };
  });
}

/** Bytes that were read again for these parts, or are being read again. */
export function sumReread(slots: readonly SlotView[]): number {
  return slots.reduce((sum, { bytes, arrived, state, fills }) => {
    if (fills === 0) return sum;
    return sum + (fills - 1) * bytes + (state === 'arriving' ? arrived : 0);
  }, 0);
}

function rate(): Rate {
  return new Rate(() => performance.now(), RATE_MS);
}

/** In the engine worker: tells the page how the parts are doing while something changes. */
export class WeightsNews {
  #rate = rate();
  /** Bytes that had come when the rate's count began, and at the last news. */
  #base = 0;
  #told = 0;
  #last = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `brought`: bytes that came so far. `post` is called with these and with the rate in bytes a second. */
  constructor(
    readonly slots: () => Float64Array,
    readonly brought: () => number,
    readonly post: (slots: Float64Array, bytesPerSecond: number) => void,
  ) {}

  /** Something has changed. It is told now, or when the last news is old enough. */
  changed(): void {
    const wait = this.#last + TELL_MS - performance.now();
    // A pause is no part of the rate.
    if (wait < -RATE_MS) {
      this.#base = this.#told;
      this.#rate = rate();
    }
    if (wait <= 0) this.tell();
    else this.#timer ??= setTimeout(() => this.tell(), wait);
  }

  tell(): void {
    this.end();
    this.#last = performance.now();
    this.#told = this.brought();
    const bytesPerSecond = this.#rate.perSecond(this.#told - this.#base);
    this.post(this.slots(), bytesPerSecond);
    // When nothing comes any more, the rate falls to 0, which the page shall see.
    if (bytesPerSecond > 0) this.#timer = setTimeout(() => this.tell(), TELL_MS);
  }

  /** Tells nothing more, until something changes. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
