// Tests the bench's arithmetic: medians over rounds, shares of the machine, ratios.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ratios_of } from '../../e2e/bench/against.mjs';
import { describe_machine, median, summarize } from '../../e2e/bench/figures.mjs';
import { markdown_of, text_of } from '../../e2e/bench/tables.mjs';

const FACTS = { kernels: 'avx2', bytes_per_token: 1e9, prompt_macs: 5e8 };

/** Three rounds of two sides with one and two threads; the figures grow with the round. */
function rounds() {
  const all = [];
  for (const round of [1, 3, 2]) {
    for (const threads of [1, 2]) {
      const rate = 10 * threads * round;
      const machine = { read_gbps: 40 * threads, memory_gbps: 30, peak_gmacs: 1000 * threads };
      const figures = { prompt_tps: 8 * rate, decode_tps: rate, deep_tps: rate / 2, ...machine };
      all.push({ side: 'native', threads, figures, facts: FACTS });
      all.push({
        side: 'chromium',
        threads,
        facts: { kernels: 'wasm-simd' },
        figures: { prompt_tps: 2 * rate, decode_tps: rate / 2, load_ms: 100 * round },
      });
    }
  }
  return all;
}

test('the median of odd and even numbers of values, and of none', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(median([]), null);
});

test('medians over the rounds, shares of what the machine reads and multiplies', () => {
  const { rows, read_gbps, peak_gmacs } = summarize(rounds(), { kv_bytes: 5e6, depth: 100 });
  assert.deepEqual(read_gbps, { 1: 40, 2: 80 });
  assert.deepEqual(peak_gmacs, { 1: 1000, 2: 2000 });
  assert.deepEqual(
    rows.map(({ side, threads }) => `${side} ${threads}`),
    ['native 1', 'chromium 1', 'native 2', 'chromium 2'],
  );
  const [native, chromium] = rows;
  assert.equal(native.decode_tps, 20);
  assert.deepEqual(native.samples.decode_tps, [10, 30, 20]);
  assert.equal(native.decode_gbps, 20);
  assert.equal(native.read_share, 0.5);
  assert.equal(native.prompt_gmacs, 80);
  assert.equal(native.peak_share, 0.08);
  // Half the rate, although only half as much again has to be read.
  assert.equal(native.depth_share.toFixed(6), '0.750000');
  assert.equal(chromium.load_ms, 200);
  assert.equal(chromium.peak_share, undefined);
  assert.equal(chromium.read_share, 0.25);
});

test('ratios of the sides that are there', () => {
  const { ratios } = summarize(rounds());
  assert.deepEqual(ratios, [
    { ours: 'chromium', theirs: 'native', threads: 1, prompt: 0.25, decode: 0.5 },
    { ours: 'chromium', theirs: 'native', threads: 2, prompt: 0.25, decode: 0.5 },
  ]);
});

test('without the native side there are rates and no shares', () => {
  const only = rounds().filter(({ side }) => side === 'chromium');
  const { bytes_per_token, rows, ratios } = summarize(only);
  assert.equal(bytes_per_token, undefined);
  assert.equal(rows[0].decode_gbps, undefined);
  assert.deepEqual(ratios, []);
});

test('tables hold the figures', () => {
  const result = {
    model: 'm.gguf',
    prompt_tokens: 256,
    tokens: 32,
    rounds: 3,
    depth: 0,
    ...summarize(rounds()),
  };
  const text = text_of(result);
  assert.match(text, /Sluice, native \(avx2\) +1 +160\.0 +20\.0 +20\.00 +50% +80 +8%/);
  assert.match(text, /chromium \/ native +2 +0\.25 +0\.50/);
  const versions = { Chromium: '1.2' };
  const markdown = markdown_of({ machine: describe_machine(), versions, models: [result] });
  assert.match(markdown, /Chromium 1\.2/);
  assert.match(markdown, /\| m\.gguf \(256 \+ 32\) \| 160\.0 \| 40\.0 \| 20\.0 \| 10\.0 \|/);
  assert.match(markdown, /\| m\.gguf \| 0\.25, 0\.50 \| 50% \| 8% \| 25% \|/);
});

test('pairs of two checkouts: the median of their ratios, not the ratio of medians', () => {
  const pair = (prompt, decode) => ({ prompt, decode });
  const samples = {
    this: [pair(10, 3), pair(40, 3), pair(90, NaN)],
    against: [pair(10, 1), pair(20, 1), pair(30, 1)],
  };
  assert.deepEqual(ratios_of(samples), { prompt: { ratio: 2, ratios: [1, 2, 3] } });
});
