// Traces as the database keeps them.
import { expect, it } from 'vitest';
import { bytesOf, pack, unpack, type KeptTrace } from '../src/inside/kept-trace';
import { traceOf } from './traces';

/** As the database gives it back. */
const stored = (kept: KeptTrace): KeptTrace => structuredClone(kept);

it('is read back as it was, bit by bit', () => {
  const trace = traceOf(50);
  trace.seed = '18446744073709551615';
  const [first, second] = trace.tokens;
  if (first === undefined || second?.raw == null) throw new Error('no tokens');
  first.raw = null;
  second.raw.draws = null;
  expect(unpack(stored(pack(trace)))).toEqual(trace);
  expect(unpack(stored(pack(traceOf(0))))).toEqual(traceOf(0));
});

it('takes about 2 KB a token, and each token has arrays of its own', () => {
  const kept = pack(traceOf(200));
  expect(bytesOf(kept) / 200).toBeGreaterThan(2048);
  expect(bytesOf(kept) / 200).toBeLessThan(2400);
  for (const { raw } of unpack(kept)?.tokens ?? [])
    expect([raw?.ids.buffer.byteLength, raw?.logits.buffer.byteLength]).toEqual([1024, 1024]);
});

it.each<[string, (kept: KeptTrace) => unknown]>([
  ['nothing', () => null],
  ['a text', () => 'trace'],
  ['another version', (kept) => ({ ...kept, version: 2 })],
  ['no model', (kept) => ({ ...kept, model: null })],
  ['a vocabulary that is none', (kept) => ({ ...kept, model: { ...kept.model, vocab: 'x' } })],
  ['no prompt', (kept) => ({ ...kept, promptIds: [1, 2] })],
  ['no options', (kept) => ({ ...kept, options: null })],
  ['a seed that is none', (kept) => ({ ...kept, seed: {} })],
  ['too few texts', (kept) => ({ ...kept, texts: kept.texts.slice(1) })],
  ['a text that is none', (kept) => ({ ...kept, texts: kept.texts.map(() => 3) })],
  ['too few pieces', (kept) => ({ ...kept, pieces: kept.pieces.slice(1) })],
  ['too few entropies', (kept) => ({ ...kept, entropies: kept.entropies.slice(1) })],
  ['arrays of another type', (kept) => ({ ...kept, rawIds: Float64Array.from(kept.rawIds) })],
  ['too few raw logits', (kept) => ({ ...kept, rawLogits: kept.rawLogits.slice(1) })],
  ['too few raw logits and ids', (kept) => ({ ...kept, counts: kept.counts.map((n) => n - 1) })],
  ['too many of a token', (kept) => ({ ...kept, counts: Uint16Array.of(512, 0, 256) })],
])('takes %s for damaged', (_, damage) => {
  expect(unpack(damage(pack(traceOf(3))))).toBeNull();
});
