// The sides of the bench of vectors that run in Chromium: Sluice's library and onnxruntime-web, from one server, each time
// in a page of its own.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { CACHE, ROOT, capture, read_json, tail, which } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';

/** Not among the packages of npm ci: it is 139 MB that only this bench needs. */
const ORT_VERSION = '1.30.0';
const ORT_DIR = path.join(CACHE, `onnxruntime-web-${ORT_VERSION}`);
const ORT = path.join(ORT_DIR, 'node_modules/onnxruntime-web');
const MAKER = path.join(ROOT, 'e2e/bench/minilm_onnx.py');
/** What MAKER needs, at the versions that it was written for. */
const PYTHON_PACKAGES = [
  ...['torch==2.13.0', 'transformers==5.24.0', 'onnx==1.23.2'],
  ...['onnxscript==0.7.2', 'onnxruntime==1.32.0'],
];

export function ort_version() {
  return read_json(path.join(ORT, 'package.json'))?.version ?? null;
}

/** Installs onnxruntime-web in the cache. Returns why it can't, or undefined. */
function install_ort() {
  if (ort_version() === ORT_VERSION) return undefined;
  console.error(`installing onnxruntime-web ${ORT_VERSION} in ${ORT_DIR}`);
  const args = ['--no-audit', '--no-fund', '--no-save', '--prefix', ORT_DIR];
  fs.mkdirSync(ORT_DIR, { recursive: true });
  const done = capture('npm', ['install', ...args, `onnxruntime-web@${ORT_VERSION}`]);
  return done.status === 0 ? undefined : `npm install failed: ${tail(done.stderr, 1)}`;
}

/** A Python that can run MAKER: SLUICE_ONNX_PYTHON, or one that is set up in the cache. Returns {python} or {lacks: why}. */
function onnx_python() {
  const named = process.env.SLUICE_ONNX_PYTHON;
  if (named) return { python: named };
  const dir = path.join(CACHE, 'onnx-python');
  const python = path.join(dir, 'bin/python');
  const stamp = path.join(dir, 'sluice-packages');
  const wanted = PYTHON_PACKAGES.join(' ');
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return { python };
  if (which('python3') === null) return { lacks: 'there is no python3' };
  console.error(`installing ${wanted} in ${dir}; this takes minutes`);
  const steps = [
    ['python3', ['-m', 'venv', dir]],
    [python, ['-m', 'pip', 'install', '--quiet', ...PYTHON_PACKAGES]],
  ];
  for (const [command, args] of steps) {
    const { status, stderr } = capture(command, args);
    if (status !== 0)
      return { lacks: `${command} ${args.slice(0, 3).join(' ')} failed: ${tail(stderr, 1)}` };
  }
  fs.writeFileSync(stamp, wanted);
  return { python };
}

/** MiniLM of its makers' folder as ONNX in `dir`: {f32, int8: paths} or {lacks: why they can't be made}. */
export function onnx_models(folder, dir) {
  const missing = install_ort();
  if (missing !== undefined) return { lacks: missing };
  const made = Object.fromEntries(
    ['f32', 'int8'].map((type) => [type, path.join(dir, `all-minilm-l6-v2-${type}.onnx`)]),
  );
  if (Object.values(made).every((file) => fs.existsSync(file))) return made;
  const { python, lacks } = onnx_python();
  if (lacks !== undefined) return { lacks };
  const partial = Object.values(made).map((file) => `${file}.partial`);
  try {
    execFileSync(python, [MAKER, folder, ...partial], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    return { lacks: `${MAKER} failed: ${tail(String(error.stderr ?? error.message), 1)}` };
  }
  Object.values(made).forEach((file, i) => fs.renameSync(partial[i], file));
  return made;
}

/** Calls `body` in a new page, with the argument and the model's address. onnxruntime-web's scripts are served at /ort/. */
async function in_page(browser, model, body, argument) {
  const server = await serve({
    dir: path.join(ROOT, 'e2e/harness'),
    port: 0,
    mounts: {
      '/engine/': path.join(ROOT, 'web/engine/dist'),
      '/ort/': path.join(ORT, 'dist'),
      '/models/': path.dirname(model),
    },
  });
  try {
    const context = await browser.handle.newContext({ bypassCSP: true });
    try {
      const page = await context.newPage();
      await page.goto(server.url, { waitUntil: 'networkidle' });
      const address = `/models/${path.basename(model)}`;
      return await page.evaluate(body, { ...argument, address });
    } finally {
      await context.close();
    }
  } finally {
    await server.close();
  }
}

/** Runs in the page. The first texts come twice, so that the browser has compiled the hot code. */
async function sluice_in_page({ address, texts, warm, threads }) {
  const { Engine } = await import('/engine/index.js');
  const engine = await Engine.load(new URL(address, location.href), { threads });
  await engine.ready;
  await engine.embed(texts.slice(0, warm));
  const began = performance.now();
  const found = await engine.embed(texts);
  const seconds = (performance.now() - began) / 1000;
  const { flavour, kernels, threads: used } = engine.stats;
  await engine.close();
  const sample = Array.from(found[0].embedding);
  return { seconds, kernels: `${kernels}, ${flavour}`, threads: used, sample };
}

/** The same with onnxruntime-web: sorted by length, `batch` texts at a time, padded to the longest of these. */
async function ort_in_page({ address, texts, warm, threads, batch }) {
  const ort = await import('/ort/ort.wasm.min.mjs');
  ort.env.wasm.wasmPaths = '/ort/';
  ort.env.wasm.numThreads = threads;
  const bytes = new Uint8Array(await (await fetch(address)).arrayBuffer());
  const session = await ort.InferenceSession.create(bytes, {
    executionProviders: ['wasm'],
    graphOptimizationLevel: 'all',
  });
  const run = async (some) => {
    const order = some.map((_, i) => i).sort((a, b) => some[a].length - some[b].length);
    const vectors = new Array(some.length);
    for (let at = 0; at < order.length; at += batch) {
      const now = order.slice(at, at + batch);
      const longest = some[now.at(-1)].length;
      const ids = new BigInt64Array(now.length * longest);
      const mask = new BigInt64Array(now.length * longest);
      now.forEach((text, row) => {
        some[text].forEach((id, i) => {
          ids[row * longest + i] = BigInt(id);
          mask[row * longest + i] = 1n;
        });
      });
      const dims = [now.length, longest];
      const { embedding } = await session.run({
        input_ids: new ort.Tensor('int64', ids, dims),
        attention_mask: new ort.Tensor('int64', mask, dims),
      });
      const width = embedding.dims[1];
      now.forEach((text, row) => {
        vectors[text] = embedding.data.slice(row * width, (row + 1) * width);
      });
    }
    return vectors;
  };
  await run(texts.slice(0, warm));
  const began = performance.now();
  const vectors = await run(texts);
  const seconds = (performance.now() - began) / 1000;
  await session.release();
  const length = Math.hypot(...vectors[0]);
  return {
    seconds,
    threads: ort.env.wasm.numThreads,
    sample: Array.from(vectors[0], (x) => x / length),
  };
}

/** `texts`: ids. {seconds, threads, kernels, sample: the first text's vector, of length 1}. */
export function embed_in_chromium(browser, model, { texts, warm, threads }) {
  return in_page(browser, model, sluice_in_page, { texts, warm, threads });
}

/** {seconds, threads, sample}. */
export function embed_with_ort(browser, model, { texts, warm, threads, batch }) {
  return in_page(browser, model, ort_in_page, { texts, warm, threads, batch });
}
