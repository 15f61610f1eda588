// The states of a model's slots: from the engine worker to the page's onWeights.
import { Rate } from './rate.js';
import type { SlotView } from './types.js';

/** Numbers for each slot (EngineHandle.slots). */
const FIELDS = 6;
const KINDS = ['embedding', 'layer', 'head', 'table'] as const;
const STATES = ['absent', 'arriving', 'resident', 'computing'] as const;
/** The least milliseconds between two messages to the page. */
const TELL_MS = 100;
/** The window of the rate, in milliseconds. */
const RATE_MS = 1000;

/** The slots from the numbers of EngineHandle.slots. */
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

/** Bytes of these slots that were read again, or are being read again. */
export function sumReread(slots: readonly SlotView[]): number {
  return slots.reduce((sum, { bytes, arrived, state, fills }) => {
    if (fills === 0) return sum;
    return sum + Math.round((fills - 1) * bytes) + (state === 'arriving' ? arrived : 0);
  }, 0);
}

function rate(): Rate {
  return new Rate(() => performance.now(), RATE_MS);
}

/** In the engine worker: sends the states of the slots to the page while they change. */
export class WeightsNews {
  #rate = rate();
  /** Bytes received when the rate's count began, and at the last message. */
  #base = 0;
  #told = 0;
  #last = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `brought`: the bytes received so far. `post` gets the slots, and the rate in bytes per second. */
  constructor(
    readonly slots: () => Float64Array,
    readonly brought: () => number,
    readonly post: (slots: Float64Array, bytesPerSecond: number) => void,
  ) {}

  /** The slots have changed: sends a message now, or when the last one is old enough. */
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
    // When no more bytes arrive, the rate falls to 0, which the page gets, too.
    if (bytesPerSecond > 0) this.#timer = setTimeout(() => this.tell(), TELL_MS);
  }

  /** Sends nothing more until the next changed(). */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
