// Tests the wasm SIMD kernels, and the code that packs and reads weights, under UBSan: the module traps on an error. It
// runs the parity checks, and small models with a few bytes changed, which must be refused or computed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { MAKE_MODELS, ROOT, files_of, lacks } from './module.mjs';

const CHECKS = path.join(ROOT, 'build/wasm/sluice-sanitized-simd.mjs');
const CHANGED = 12; // times that each model is changed

async function open_checks(lines = []) {
  const { default: create } = await import(pathToFileURL(CHECKS));
  return create({ print: (line) => lines.push(line) });
}

test('the simd kernels under UBSan', { skip: lacks(CHECKS) }, async () => {
  const lines = [];
  const checks = await open_checks(lines);
  assert.equal(checks._run_parity(), 0, lines.join('\n'));
  assert.match(lines.at(-1), /: \d{4,} comparisons, 0 failed$/);
});

/** Whole numbers below n, the same each time (an LCG's high bits). */
function random_numbers(seed) {
  let state = BigInt(seed);
  return (n) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number((state >> 33n) % BigInt(n));
  };
}

test('changed models under UBSan', { skip: lacks(CHECKS, MAKE_MODELS) }, async (t) => {
  const dir = files_of(MAKE_MODELS);
  const checks = await open_checks();
  const names = fs.readdirSync(dir).filter((name) => /^(llama|qwen2-odd)-.*\.gguf$/.test(name));
  assert.ok(names.length >= 12);
  for (const [seed, name] of names.entries()) {
    await t.test(name, () => {
      const good = fs.readFileSync(path.join(dir, name));
      const place = checks._malloc(good.length);
      const below = random_numbers(seed);
      for (let i = 0; i < CHANGED; ++i) {
        const file = Buffer.from(good);
        // The first is unchanged. The others get up to 16 random bytes, most of them in the weights.
        for (let n = i === 0 ? 0 : 1 + below(16); n > 0; --n) file[below(file.length)] = below(256);
        checks.HEAPU8.set(file, place);
        assert.equal(checks._LLVMFuzzerTestOneInput(place, file.length), 0);
      }
      checks._free(place);
    });
  }
});
