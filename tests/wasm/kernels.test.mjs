// Compares every kernel of the wasm SIMD table with the scalar definitions (tests/kernels/parity.h).
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ROOT, lacks } from './module.mjs';

const CHECKS = path.join(ROOT, 'build/wasm/sluice-parity-simd.mjs');

test('the simd kernels give the bits of their definition', { skip: lacks(CHECKS) }, async () => {
  const { default: create } = await import(pathToFileURL(CHECKS));
  const lines = [];
  const checks = await create({ print: (line) => lines.push(line) });
  assert.equal(checks._run_parity(), 0, lines.join('\n'));
  assert.match(lines.at(-1), /: \d{4,} comparisons, 0 failed$/);
});
