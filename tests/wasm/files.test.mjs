// Tests the shipped files: their sizes, and that they contain nothing that a strict Content-Security-Policy forbids.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FLAVOURS, WASM_DIR } from './module.mjs';

const LIMIT = 923_000;

for (const flavour of FLAVOURS) {
  const wasm = path.join(WASM_DIR, `sluice-${flavour}.wasm`);
  const glue = path.join(WASM_DIR, `sluice-${flavour}.mjs`);

  test(`${flavour}: under ${LIMIT / 1000} KB`, (t) => {
    const { size } = fs.statSync(wasm);
    t.diagnostic(`${size} bytes, and ${fs.statSync(glue).size} of its script`);
    assert.ok(size < LIMIT);
  });

  test(`${flavour}: no eval, no blob, no Asyncify`, () => {
    const script = fs.readFileSync(glue, 'utf8');
    const found =
      /\beval\s*\(|\bnew Function\b|\bnew Blob\b|asyncify|WebAssembly\.Suspending/i.exec(script);
    assert.equal(found?.[0], undefined);
  });

  test(`${flavour}: nothing of the rooms that convert and measure files`, () => {
    const bytes = fs.readFileSync(wasm);
    for (const text of ['model.safetensors', '.in_sum2', 'weight_map'])
      assert.equal(bytes.includes(text), false, text);
    assert.ok(bytes.includes('tokenizer.ggml.tokens'));
  });

  test(`${flavour}: a module of its kind`, async () => {
    const bytes = fs.readFileSync(wasm);
    // Node 20 refuses a module with relaxed SIMD.
    if (flavour.startsWith('relaxed')) return assert.equal(bytes.readUInt32LE(0), 0x6d736100);
    const imports = WebAssembly.Module.imports(await WebAssembly.compile(bytes));
    assert.equal(imports.filter((entry) => entry.kind === 'memory').length, 1);
  });
}
