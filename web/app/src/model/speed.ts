// About how fast a model writes on this device. A token needs nearly all weights once, so the bytes that it reads and the
// rate at which this device reads them decide. What texts have shown counts more than a short measurement.
import type { EngineStats, ModelInfo } from '@sluice/engine';
import { tokenRate } from '../format';
import { t } from '../texts';

/** What a token reads. */
export interface Reads {
  /** Bytes of weights; null if that is not known. */
  decodeBytes: number | null;
  /** Of these, the ones that are read from this device for each token, because they don't stay in memory. */
  rereadBytes: number;
}

/** Bytes a second, and when that was seen, in milliseconds since 1970. */
interface Rate {
  bytesPerSecond: number;
  at: number;
}

/** What is known of this device. */
export interface Seen {
  /** Of its memory, measured. */
  measured: Rate | null;
  /** What texts have shown, the newest last: each with the bytes that a token of its model reads. */
  texts: (Rate & { decodeBytes: number })[];
  /** Of what it keeps: its disk. */
  disk: Rate | null;
}

export interface Estimate {
  /** null: only that it is slow. */
  tokensPerSecond: number | null;
  /** Weights are read from this device for each token. */
  rereads: boolean;
}

export const NOTHING: Seen = { measured: null, texts: [], disk: null };

/** A text shows little of models whose tokens read more, or less, than this times as much. */
const ALIKE = 8;

/** About how fast a model writes; null if nothing is known. */
export function estimate({ decodeBytes, rereadBytes }: Reads, seen: Seen): Estimate | null {
  const rereads = rereadBytes > 0;
  const memory = decodeBytes === null ? null : memorySeconds(decodeBytes, seen);
  if (memory === null || (rereads && seen.disk === null))
    return rereads ? { tokensPerSecond: null, rereads } : null;
  const disk = rereads ? rereadBytes / (seen.disk?.bytesPerSecond ?? Infinity) : 0;
  const tokensPerSecond = 1 / (memory + disk);
  return Number.isFinite(tokensPerSecond) ? { tokensPerSecond, rereads } : null;
}

/** Seconds of a token beside reading: they count only for tiny models, and what texts have shown contains them. */
const STEP_SECONDS = 0.0004;

/** Seconds of a token, as the text of the most similar model has shown, or else by the rate that was measured. */
function memorySeconds(decodeBytes: number, { texts, measured }: Seen): number | null {
  let nearest: number | null = null;
  let least = Math.log(ALIKE);
  for (const text of texts) {
    const far = Math.abs(Math.log(text.decodeBytes / decodeBytes));
    if (far > least) continue;
    least = far;
    nearest = text.bytesPerSecond;
  }
  if (nearest !== null) return decodeBytes / nearest;
  return measured === null ? null : decodeBytes / measured.bytesPerSecond + STEP_SECONDS;
}

/** In words: about 23 tokens/s. '' if nothing is known. */
export function speedInWords(about: Estimate | null): string {
  if (about === null) return '';
  const words = t.value.model.speed;
  const { tokensPerSecond, rereads } = about;
  if (tokensPerSecond === null) return words.slow;
  return (rereads ? words.reread : words.about)(rounded(tokensPerSecond));
}

/** As above, where there is little room. */
export function speedShort(about: Estimate | null): string {
  if (about === null) return '';
  const words = t.value.model.speed;
  if (about.tokensPerSecond === null) return words.slowShort;
  return words.about(rounded(about.tokensPerSecond));
}

/** Two digits: it is no more than an estimate. */
function rounded(perSecond: number): string {
  return tokenRate(perSecond >= 10 ? Number(perSecond.toPrecision(2)) : perSecond);
}

/** What a token of a model with this header reads. */
export function readsOf(info: ModelInfo): Reads {
  const { bytesPerToken = 0, rereadBytes = 0 } = info.memory ?? {};
  return { decodeBytes: bytesPerToken || null, rereadBytes };
}

/** How many texts count. */
const TEXTS = 12;
/** Shorter texts show too little. */
export const LEAST_TOKENS = 16;

function rateIn(value: unknown): Rate | null {
  const { bytesPerSecond, at } = (value ?? {}) as Record<string, unknown>;
  const good = (n: unknown): n is number => typeof n === 'number' && Number.isFinite(n) && n > 0;
  return good(bytesPerSecond) && good(at) ? { bytesPerSecond, at } : null;
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
    const reads = rateIn({
      bytesPerSecond: (one as { decodeBytes?: unknown } | null)?.decodeBytes,
      at: 1,
    });
    return rate === null || reads === null ? [] : [{ ...rate, decodeBytes: reads.bytesPerSecond }];
  });
  return { measured: rateIn(measured), texts: good.slice(-TEXTS), disk: rateIn(disk) };
}

/** `texts` with what one more text has shown; the same if it shows nothing. */
export function withText(
  texts: Seen['texts'],
  { tokens, tokensPerSecond, bytesPerToken }: EngineStats,
  at: number,
): Seen['texts'] {
  if (tokens < LEAST_TOKENS || !(tokensPerSecond > 0) || !(bytesPerToken > 0)) return texts;
  const one = { bytesPerSecond: tokensPerSecond * bytesPerToken, decodeBytes: bytesPerToken, at };
  // Of a model the newest counts.
  return [...texts.filter(({ decodeBytes }) => decodeBytes !== bytesPerToken), one].slice(-TEXTS);
}
