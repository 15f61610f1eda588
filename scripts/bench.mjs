// Prompt and decode rates, natively and in Chromium, in one run, with the machine's read bandwidth beside them; and
// llama.cpp's where `node scripts/setup.mjs llama` has installed it.
//   npm run bench -- [MODEL] [-p PROMPT_TOKENS] [-n TOKENS] [-r REPEATS] [-t 1,2] [--json FILE]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Failure, IS_ROOT, ROOT, capture, main, read_json, which } from './lib.mjs';
import { build_program, build_web } from './build.mjs';
import { EMSCRIPTEN_ROOT, READY, mounting_allowed, run_in_root } from './emscripten.mjs';
import { serve } from './serve.mjs';

const CHROMIUM = [
  ...(IS_ROOT ? ['--no-sandbox'] : []),
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-sync',
  '--no-first-run',
];

function options_of(args) {
  const options = {
    model: 'web/app/public/models/stories-q8_0.gguf',
    p: 256,
    n: 32,
    r: 5,
    t: [1, 2],
    json: null,
  };
  const from = process.env.INIT_CWD ?? process.cwd();
  options.model = path.join(ROOT, options.model);
  const rest = [...args];
  while (rest.length > 0) {
    const arg = rest.shift();
    const name = /^-([pnrt])$/.exec(arg)?.[1];
    if (name === undefined && !arg.startsWith('-')) options.model = path.resolve(from, arg);
    else if (arg === '--json' && rest.length > 0) options.json = path.resolve(from, rest.shift());
    else if (name === 't' && /^\d+(,\d+)*$/.test(rest[0] ?? '')) {
      options.t = rest.shift().split(',').map(Number);
    } else if (name !== undefined && name !== 't' && Number(rest[0]) > 0) {
      options[name] = Number(rest.shift());
    } else
      throw new Failure(
        `unknown option ${arg}; there are -p N, -n N, -r N, -t 1,2 and --json FILE`,
      );
  }
  if (!fs.existsSync(options.model)) throw new Failure(`there is no file ${options.model}`);
  return options;
}

function bench_native(program, { model, p, n, r, t }) {
  const args = ['bench', model, '-p', p, '-n', n, '-r', r, '-t', t.join(','), '--json'].map(String);
  const result = capture(program, args);
  if (result.status !== 0) throw new Failure(`sluice bench failed: ${result.stderr}`);
  return JSON.parse(result.stdout);
}

/** Runs in the page: loads, computes a prompt of `p` tokens, writes `n`, `r` times; gives each time's rates. */
async function measure_in_page({ p, n, r, threads }) {
  const { Engine } = await import('/engine/index.js');
  const source = new URL('/models/model.gguf', location.href);
  const engine = await Engine.load(source, { threads, contextSize: p + n + 1 });
  await engine.ready;
  const runs = [];
  for (let i = 0; i <= r; ++i) {
    // Each time a prompt of its own, or the cache would already hold it.
    const prompt = Array.from({ length: p }, (_, k) => 3 + ((k * 7 + i) % 200));
    for await (const token of engine.generate(prompt, {
      maxTokens: n,
      temperature: 0,
      ignoreEos: true,
    })) {
      void token;
    }
    runs.push([engine.stats.promptTokensPerSecond, engine.stats.tokensPerSecond]);
  }
  const { flavour } = engine.stats;
  await engine.close();
  // The first time warms up.
  return { runs: runs.slice(1), flavour };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

async function bench_chromium(options) {
  const executablePath = which('chromium') ?? which('chromium-browser') ?? which('google-chrome');
  if (executablePath === null) {
    console.log(
      'Chromium is not there: apt-get install chromium, or node scripts/setup.mjs browser',
    );
    return [];
  }
  const { chromium } = await import('playwright-core');
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-bench-'));
  fs.mkdirSync(path.join(dir, 'models'));
  fs.writeFileSync(path.join(dir, 'index.html'), '<!doctype html><title>bench</title>\n');
  fs.copyFileSync(options.model, path.join(dir, 'models/model.gguf'));
  const server = await serve({
    dir,
    port: 0,
    mounts: { '/engine/': path.join(ROOT, 'web/engine/dist') },
  });
  const browser = await chromium.launch({ executablePath, args: CHROMIUM });
  try {
    const rows = [];
    for (const threads of options.t) {
      const page = await browser.newPage();
      await page.goto(server.url);
      const { p, n, r } = options;
      const { runs, flavour } = await page.evaluate(measure_in_page, { p, n, r, threads });
      await page.close();
      const [prompt, decode] = [0, 1].map((i) => median(runs.map((rates) => rates[i])));
      rows.push({ name: `Chromium, ${flavour}`, threads, prompt, decode });
    }
    return rows;
  } finally {
    await browser.close();
    await server.close();
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

async function bench_llama({ model, p, n, r, t }) {
  if (!IS_ROOT || !mounting_allowed() || !(read_json(READY) ?? []).includes('llama.cpp')) return [];
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-bench-'));
  const [out, err] = ['out', 'err'].map((name) => fs.openSync(path.join(dir, name), 'w'));
  try {
    const file = `/mnt/${path.basename(model)}`;
    const args = ['-m', file, '-p', p, '-n', n, '-r', r, '-t', t.join(','), '-o', 'json'].map(
      String,
    );
    const binds = [[path.dirname(model), '/mnt']];
    const stdio = ['ignore', out, err];
    const status = await run_in_root(EMSCRIPTEN_ROOT, ['llama-bench', ...args], { binds, stdio });
    const results = status === 0 ? read_json(path.join(dir, 'out')) : null;
    if (results === null) {
      console.log(`llama-bench failed: ${fs.readFileSync(path.join(dir, 'err'), 'utf8').trim()}`);
      return [];
    }
    const rate = (threads, kind) =>
      median(results.find((row) => row.n_threads === threads && row[kind] > 0)?.samples_ts ?? []);
    return t.map((threads) => ({
      name: 'llama.cpp',
      threads,
      prompt: rate(threads, 'n_prompt'),
      decode: rate(threads, 'n_gen'),
    }));
  } finally {
    for (const fd of [out, err]) fs.closeSync(fd);
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

main(async () => {
  const options = options_of(process.argv.slice(2));
  const program = await build_program();
  await build_web();
  const native = bench_native(program, options);
  const rows = native.runs.map((run) => ({
    name: `native, ${native.kernels}`,
    threads: run.threads,
    prompt: run.prompt_tps,
    decode: run.decode_tps,
  }));
  rows.push(...(await bench_chromium(options)), ...(await bench_llama(options)));

  console.log(
    `${path.basename(options.model)}: ${(native.bytes / 1e6).toFixed(1)} MB of weights are read for each token`,
  );
  console.log(`prompt of ${options.p} tokens, then ${options.n} tokens\n`);
  const line = (...cells) =>
    console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(24) : cell.padStart(14))).join(''));
  line('', 'threads', 'prompt tok/s', 'decode tok/s', 'weights GB/s', 'of reading');
  for (const { name, threads, prompt, decode } of rows) {
    const weights = (decode * native.bytes) / 1e9;
    const share = `${((100 * weights) / native.read_gbps[threads]).toFixed(0)}%`;
    line(
      name,
      String(threads),
      prompt.toFixed(1),
      decode.toFixed(1),
      weights.toFixed(2),
      native.read_gbps[threads] > 0 ? share : '',
    );
  }
  console.log();
  for (const [threads, rate] of Object.entries(native.read_gbps)) {
    line('memory, reading', threads, '', '', rate.toFixed(2));
  }
  console.log();
  const ratios = [];
  for (const [ours, theirs] of [
    ['native', 'llama.cpp'],
    ['Chromium', 'llama.cpp'],
    ['Chromium', 'native'],
  ]) {
    for (const threads of options.t) {
      const find = (start) =>
        rows.find((row) => row.name.startsWith(start) && row.threads === threads);
      const [a, b] = [find(ours), find(theirs)];
      if (a === undefined || b === undefined) continue;
      const ratio = {
        ours,
        theirs,
        threads,
        prompt: a.prompt / b.prompt,
        decode: a.decode / b.decode,
      };
      ratios.push(ratio);
      const cells = [ratio.prompt.toFixed(2), ratio.decode.toFixed(2)];
      line(`${ours} / ${theirs}`, String(threads), ...cells);
    }
  }
  if (options.json !== null) {
    const { model, p, n, r } = options;
    const result = {
      model: path.basename(model),
      machine: os.cpus()[0]?.model ?? null,
      ...{ prompt_tokens: p, tokens: n, repeats: r },
      ...{ bytes_per_token: native.bytes, read_gbps: native.read_gbps, rows, ratios },
    };
    fs.writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  }
});
