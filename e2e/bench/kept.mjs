// Measures what keeping a model on the device costs, and what it gains: loading it without the cache, into the cache and
// from the cache, and next to these a plain read of the same bytes from the same file into memory like the engine's. The
// profile is on disk; all of it runs in one tab, in turn: plain reads in pieces of 1, 4 and 16 MiB, a load after each.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { launch_profile } from './chromium.mjs';
import { median } from './figures.mjs';

/** Bytes that the plain reader reads at once. */
const PLAIN_PIECES = [1, 4, 16].map((mib) => mib << 20);

/** Runs in the page. Returns the milliseconds of each round. */
async function rounds_in_page({ address, rounds, pieces }) {
  const { Engine, cache } = await import('/engine/index.js');
  const url = new URL(address, location.href).href;
  const load = async (options) => {
    const begin = performance.now();
    const engine = await Engine.load(url, options);
    await engine.ready;
    const ms = performance.now() - begin;
    await engine.close();
    return ms;
  };
  const reader = new Worker('/bench/read_worker.js', { type: 'module' });
  const read = (file, piece) =>
    new Promise((resolve, reject) => {
      reader.onmessage = ({ data }) =>
        typeof data === 'number' ? resolve(data) : reject(new Error(data));
      reader.postMessage({ file, piece });
    });
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(url));
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0'));
  const file = `${hex.join('').slice(0, 32)}.gguf`;
  const samples = { none: [], first: [], kept: [], plain: [] };
  for (let round = 0; round < rounds; ++round) {
    samples.none.push(await load({ cache: 'none' }));
    await cache.delete(url);
    samples.first.push(await load({ cache: 'opfs' }));
    // The system is still writing to the disk.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    for (const piece of pieces) {
      samples.plain.push(await read(file, piece));
      samples.kept.push(await load({ cache: 'opfs' }));
    }
  }
  return samples;
}

/** Loads a model without, into and from the cache. Returns the medians of the rounds and of the ratios within them. */
export async function measure_kept(model, rounds) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-kept-'));
  const server = await serve({
    dir: path.join(ROOT, 'e2e/harness'),
    port: 0,
    mounts: {
      '/engine/': path.join(ROOT, 'web/engine/dist'),
      '/bench/': path.join(ROOT, 'e2e/bench'),
      '/models/': path.dirname(model),
    },
  });
  try {
    const context = await launch_profile(profile);
    try {
      const page = await context.newPage();
      await page.goto(server.url, { waitUntil: 'networkidle' });
      const address = `/models/${path.basename(model)}`;
      const samples = await page.evaluate(rounds_in_page, {
        address,
        rounds,
        pieces: PLAIN_PIECES,
      });
      const ratio = (a, b) => median(samples[a].map((ms, i) => ms / samples[b][i]));
      // To the fastest of the plain reads.
      const to_best = median(samples.kept) / Math.min(...samples.plain);
      return {
        model: path.basename(model),
        bytes: fs.statSync(model).size,
        rounds,
        ...Object.fromEntries(Object.entries(samples).map(([name, ms]) => [name, median(ms)])),
        first_to_none: ratio('first', 'none'),
        kept_to_plain: ratio('kept', 'plain'),
        kept_to_best: to_best,
        samples,
      };
    } finally {
      await context.close();
    }
  } finally {
    await server.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
}
