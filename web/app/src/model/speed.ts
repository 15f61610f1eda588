// About how fast a model writes on this device. A token needs nearly all weights once, so the bytes that it reads and the
// rate at which this device decodes them decide. What texts and answers have shown counts more than a short measurement.
import { digits, tokenRate } from '../texts/format';
import { t } from '../texts';

/** What a token reads. */
export interface Reads {
  /** Bytes of weights; null if that is not known. */
  decodeBytes: number | null;
  /** Of these, the ones that are read from this device for each token, because they don't stay in memory. */
  rereadBytes: number;
  /** Most of them are weights of eight bits or more. They take less time for a byte. */
  eightBits: boolean;
}

/** Bytes a second, and when that was seen, in milliseconds since 1970. */
interface Rate {
  bytesPerSecond: number;
  at: number;
}

/** What a text has shown, with the bytes that a token of its model reads. */
type Shown = Rate & { decodeBytes: number; eightBits: boolean };

/** What is known of this device. */
export interface Seen {
  /** Of decoding, measured: with weights of four bits, and of eight. */
  measured: (Rate & { bytesPerSecond8: number }) | null;
  /** What texts have shown, the newest last. */
  texts: Shown[];
  /** Of what it keeps: its disk. */
  disk: Rate | null;
}

export interface Estimate {
  /** null: only that it is slow. */
  tokensPerSecond: number | null;
  /** A text with this model has shown it. Else it is said as a range. */
  learned: boolean;
  /** Weights are read from this device for each token. */
  rereads: boolean;
}

export const NOTHING: Seen = { measured: null, texts: [], disk: null };

/** A text shows little of models whose tokens read more, or less, than this times as much. */
const ALIKE = 8;
/** What was not learned is said from here to there, as parts of the estimate. */
const [LEAST, MOST] = [0.7, 1.3];

/** About how fast a model writes; null if nothing is known. */
export function estimate(reads: Reads, seen: Seen): Estimate | null {
  const { decodeBytes, rereadBytes } = reads;
  const rereads = rereadBytes > 0;
  const own = seen.texts.find((text) => text.decodeBytes === decodeBytes);
  const memory =
    decodeBytes === null
      ? null
      : own === undefined
        ? guessedSeconds({ ...reads, decodeBytes }, seen)
        : decodeBytes / own.bytesPerSecond;
  if (memory === null || (rereads && seen.disk === null))
    return rereads ? { tokensPerSecond: null, learned: false, rereads } : null;
  const disk = rereads ? rereadBytes / (seen.disk?.bytesPerSecond ?? Infinity) : 0;
  const tokensPerSecond = 1 / (memory + disk);
  if (!Number.isFinite(tokensPerSecond)) return null;
  return { tokensPerSecond, learned: own !== undefined && !rereads, rereads };
}

/** Seconds of a token beside its products: they count only for tiny models. */
const STEP_SECONDS = 0.0004;

/** Seconds of a token by the rate that was measured; null if none was. */
function measuredSeconds(
  { decodeBytes, eightBits }: { decodeBytes: number; eightBits: boolean },
  { measured }: Seen,
): number | null {
  if (measured === null) return null;
  const rate = eightBits ? measured.bytesPerSecond8 : measured.bytesPerSecond;
  return decodeBytes / rate + STEP_SECONDS;
}

/** Seconds of a token of a model that has written nothing here: as measured, corrected by what the most similar one has shown. */
function guessedSeconds(
  of: { decodeBytes: number; eightBits: boolean },
  seen: Seen,
): number | null {
  let nearest: Shown | null = null;
  let least = Math.log(ALIKE);
  for (const text of seen.texts) {
    const far = Math.abs(Math.log(text.decodeBytes / of.decodeBytes));
    if (far > least) continue;
    least = far;
    nearest = text;
  }
  const measured = measuredSeconds(of, seen);
  if (nearest === null) return measured;
  const took = nearest.decodeBytes / nearest.bytesPerSecond;
  const expected = measuredSeconds(nearest, seen);
  if (measured === null || expected === null) return of.decodeBytes / nearest.bytesPerSecond;
  return (measured * took) / expected;
}

/** In words, where there is little room: about 23 tokens/s, or 16 to 30 tokens/s where it wasn't learned. '' if nothing is known. */
export function speedShort(about: Estimate | null): string {
  if (about === null) return '';
  return rateOf(about) ?? t.value.model.speed.slowShort;
}

/** The same; null: it is slow. */
export function rateOf({ tokensPerSecond, learned }: Estimate): string | null {
  const words = t.value.model.speed;
  if (tokensPerSecond === null) return null;
  const to = (part: number, n: number): number => Number((part * tokensPerSecond).toPrecision(n));
  if (learned) return words.about(tokenRate(to(1, 2)));
  // It is no more than an estimate.
  const few = tokensPerSecond >= 10 ? 2 : 1;
  return words.between(digits(to(LEAST, few)), tokenRate(to(MOST, few)));
}

/** Types of eight bits or more. */
export const EIGHT_BITS = ['Q8_0', 'F16', 'BF16', 'F32'];
/** What a token of a file reads of which only the type and the size are known. */
export function readsOfFile(type: string, bytes: number, rereadBytes: number): Reads {
  return { decodeBytes: bytes, rereadBytes, eightBits: EIGHT_BITS.includes(type) };
}

/** How many texts count. */
export const TEXTS = 12;

function isRate(n: unknown): n is number {
  return typeof n === 'number' && Number.isFinite(n) && n > 0;
}

function rateIn(value: unknown): Rate | null {
  const { bytesPerSecond, at } = (value ?? {}) as Record<string, unknown>;
  return isRate(bytesPerSecond) && isRate(at) ? { bytesPerSecond, at } : null;
}

/** Reads what was kept. Anything can be in a browser's storage: what is no rate is left out. */
export function readSeen(text: string | null): Seen {
  let value: unknown = null;
  try {
    value = JSON.parse(text ?? 'null');
  } catch {
    return NOTHING;
  }
  const { measured, texts, disk } = (value ?? {}) as Record<string, unknown>;
  const good = (Array.isArray(texts) ? (texts as unknown[]) : []).flatMap((one) => {
    const rate = rateIn(one);
    const { decodeBytes, eightBits } = (one ?? {}) as Record<string, unknown>;
    if (rate === null || !isRate(decodeBytes)) return [];
    return [{ ...rate, decodeBytes, eightBits: eightBits === true }];
  });
  const four = rateIn(measured);
  const { bytesPerSecond8 } = (measured ?? {}) as Record<string, unknown>;
  return {
    // Another version of the page kept one rate, of reading alone.
    measured: four !== null && isRate(bytesPerSecond8) ? { ...four, bytesPerSecond8 } : null,
    texts: good.slice(-TEXTS),
    disk: rateIn(disk),
  };
}
