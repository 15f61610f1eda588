// A trace as the page's database keeps it (history/traces.ts): a few long arrays in place of an object for each token, which
// the browser would write one by one. What is read back may be damaged, or of another version of the page.
import type { Trace, TraceToken } from './trace';
import { MOST_KEPT } from './trace';

const VERSION = 1;

/** One number for each token, but for the last two. */
export interface KeptTrace {
  version: number;
  model: Trace['model'];
  promptText: string;
  promptIds: Int32Array;
  options: Record<string, unknown>;
  seed: Trace['seed'];
  pieceIds: Int32Array;
  pieces: string[];
  ids: Int32Array;
  texts: string[];
  logprobs: Float64Array;
  /** Raw logits that there are of it; 0: none. */
  counts: Uint16Array;
  logSums: Float64Array;
  entropies: Float64Array;
  /** -1: it is not known. */
  draws: Float64Array;
  /** Of all tokens, one after another. */
  rawIds: Int32Array;
  rawLogits: Float32Array;
}

/** A trace to be kept. */
export function pack(trace: Trace): KeptTrace {
  const { model, promptText, promptIds, options, seed, pieces, tokens } = trace;
  const total = tokens.reduce((sum, { raw }) => sum + (raw?.ids.length ?? 0), 0);
  const rawIds = new Int32Array(total);
  const rawLogits = new Float32Array(total);
  let at = 0;
  for (const { raw } of tokens) {
    if (raw === null) continue;
    rawIds.set(raw.ids, at);
    rawLogits.set(raw.logits, at);
    at += raw.ids.length;
  }
  return {
    version: VERSION,
    model,
    promptText,
    promptIds: Int32Array.from(promptIds),
    options,
    seed,
    pieceIds: Int32Array.from(pieces.keys()),
    pieces: [...pieces.values()],
    ids: Int32Array.from(tokens, ({ id }) => id),
    texts: tokens.map(({ text }) => text),
    logprobs: Float64Array.from(tokens, ({ logprob }) => logprob),
    counts: Uint16Array.from(tokens, ({ raw }) => raw?.ids.length ?? 0),
    logSums: Float64Array.from(tokens, ({ raw }) => raw?.logSum ?? 0),
    entropies: Float64Array.from(tokens, ({ raw }) => raw?.entropy ?? 0),
    draws: Float64Array.from(tokens, ({ raw }) => raw?.draws ?? -1),
    rawIds,
    rawLogits,
  };
}

/** About how many bytes the browser needs for it. */
export function bytesOf(kept: KeptTrace): number {
  let bytes = 1000 + 2 * kept.promptText.length;
  for (const part of Object.values(kept) as unknown[]) {
    if (ArrayBuffer.isView(part)) bytes += part.byteLength;
    // A text's characters, and what the browser writes before each
    else if (Array.isArray(part)) for (const text of part as string[]) bytes += 2 * text.length + 8;
  }
  return bytes;
}

const isText = (value: unknown): value is string => typeof value === 'string';

function areTexts(value: unknown, length: number): value is string[] {
  return Array.isArray(value) && value.length === length && value.every(isText);
}

function isModel(value: unknown): value is Trace['model'] {
  const { name, architecture, vocab, layers } = (value ?? {}) as Record<string, unknown>;
  return (
    isText(name) &&
    (architecture === null || isText(architecture)) &&
    Number.isSafeInteger(vocab) &&
    (layers === null || Number.isSafeInteger(layers))
  );
}

/** Whether the arrays are there, and as long as each other. */
function isKept(value: unknown): value is KeptTrace {
  const kept = (value ?? {}) as Record<string, unknown>;
  const { seed, options, pieceIds, ids, counts, rawIds, rawLogits } = kept;
  if (kept['version'] !== VERSION || !isModel(kept['model']) || !isText(kept['promptText']))
    return false;
  if (typeof options !== 'object' || options === null) return false;
  if (seed !== null && typeof seed !== 'number' && !isText(seed)) return false;
  if (!(ids instanceof Int32Array) || !(counts instanceof Uint16Array)) return false;
  if (!(kept['promptIds'] instanceof Int32Array) || !(pieceIds instanceof Int32Array)) return false;
  if (!(rawIds instanceof Int32Array) || !(rawLogits instanceof Float32Array)) return false;
  const reals = ['logprobs', 'logSums', 'entropies', 'draws'].map((name) => kept[name]);
  return (
    reals.every((list) => list instanceof Float64Array && list.length === ids.length) &&
    areTexts(kept['texts'], ids.length) &&
    areTexts(kept['pieces'], pieceIds.length) &&
    counts.length === ids.length &&
    counts.every((n) => n <= MOST_KEPT) &&
    counts.reduce((sum, n) => sum + n, 0) === rawIds.length &&
    rawIds.length === rawLogits.length
  );
}

/** A trace that was kept; null: it is damaged, or of a newer version of the page. */
export function unpack(value: unknown): Trace | null {
  if (!isKept(value)) return null;
  const { model, promptText, promptIds, options, seed, pieceIds, pieces, counts } = value;
  let at = 0;
  const tokens = Array.from(value.ids, (id, i): TraceToken => {
    const count = counts[i] ?? 0;
    const draws = value.draws[i] ?? -1;
    // Copies, since whoever sends one of them to another thread sends all that it views.
    const raw =
      count === 0
        ? null
        : {
            logSum: value.logSums[i] ?? 0,
            entropy: value.entropies[i] ?? 0,
            draws: draws < 0 ? null : draws,
            ids: value.rawIds.slice(at, at + count),
            logits: value.rawLogits.slice(at, at + count),
          };
    at += count;
    return { id, text: value.texts[i] ?? '', logprob: value.logprobs[i] ?? 0, raw };
  });
  return {
    model,
    promptText,
    promptIds: [...promptIds],
    tokens,
    options,
    seed,
    pieces: new Map(Array.from(pieceIds, (id, i) => [id, pieces[i] ?? ''])),
  };
}
