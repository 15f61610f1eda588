// Vectors of many texts, a side after the other, in turn: the program beside llama.cpp's llama-embedding in the Debian
// root, and the library beside onnxruntime-web in Chromium. Each side's time is that of computing alone: the model is
// loaded, and the texts are ids already (llama-embedding: its own "prompt eval time").
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Failure, ROOT, capture, tail } from '../../scripts/lib.mjs';
import { EMSCRIPTEN_ROOT, run_in_root } from '../../scripts/emscripten.mjs';
import { NotToBeHad } from '../../scripts/wheels.mjs';
import { converted_encoder, real_encoder } from '../../scripts/real-encoder.mjs';
import { median } from './figures.mjs';
import { made_model } from './models.mjs';
import { aligned, fixed } from './tables.mjs';
import { embedding_texts } from './embedding_texts.mjs';
import { embed_in_chromium, embed_with_ort, onnx_models, ort_version } from './embedding_page.mjs';
import { embedding_lacks } from './programs.mjs';

const MADE = path.join(ROOT, 'build/bench');
const SHAPE = 'embeddinggemma-300m';
/** What the other sides are tried with; the fastest one of the first round stays. */
const LLAMA_BATCHES = [512, 1024, 2048];
const ORT_BATCHES = [1, 8, 32];
/** Texts that come before the measurement in a page. */
const WARM_TEXTS = 16;

/** A file of the texts, one a line, that body(file) may read. */
async function with_file(texts, body) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-bench-'));
  try {
    const file = path.join(dir, 'texts');
    // llama-embedding takes an end of line at the end of the file for one more text.
    fs.writeFileSync(file, texts.join('\n'));
    return await body(file);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

/** Embeds the texts of a file with the program: {seconds, tokens, kernels}. What loading isn't done with is counted. */
function embed_natively(program, model, file, threads) {
  const args = ['embed', model, '-f', file, '-t', String(threads), '--npy', `${file}.npy`];
  const { status, stderr } = capture(program, args);
  const found = /, (\d+) tokens in ([\d.]+) s.*; (\S+) kernels/s.exec(stderr);
  if (status !== 0 || found === null) throw new Failure(`sluice embed failed: ${stderr.trim()}`);
  return { tokens: Number(found[1]), seconds: Number(found[2]), kernels: found[3] };
}

/**
 * Embeds the texts of a file with llama-embedding, so many tokens at a time: {seconds}. It often ends before its last lines
 * are written; then the time is that from its first batch to its end.
 */
async function embed_with_llama(model, file, threads, batch) {
  const dir = path.dirname(file);
  const log = path.join(dir, 'log');
  const size = ['-c', batch, '-b', batch, '-ub', batch];
  const args = ['-m', `/mnt/${path.basename(model)}`, '-f', `/srv/${path.basename(file)}`];
  const argv = ['llama-embedding', ...args, '-t', threads, ...size, '--perf', '-lv', 4];
  fs.rmSync(log, { force: true });
  const began = performance.now();
  const status = await run_in_root(EMSCRIPTEN_ROOT, argv.map(String), {
    binds: [
      [path.dirname(model), '/mnt'],
      [dir, '/srv'],
    ],
    log,
  });
  const all = (performance.now() - began) / 1000;
  const printed = fs.readFileSync(log, 'utf8');
  // Since the program's start: minutes, seconds, thousandths, millionths.
  const first = /^(\d+)\.(\d+)\.(\d+)\.(\d+) I batch_decode/m.exec(printed);
  if (status !== 0 || first === null)
    throw new Failure(`llama-embedding failed: ${tail(printed, 3)}`);
  const own = /prompt eval time =\s*([\d.]+) ms/.exec(printed);
  if (own !== null) return { seconds: Number(own[1]) / 1000 };
  const [minutes, seconds, thousandths, millionths] = first.slice(1).map(Number);
  return { seconds: all - (60 * minutes + seconds + thousandths / 1e3 + millionths / 1e6) };
}

/** The ids of each text of a file, as the program makes them. */
function ids_of(program, model, file) {
  const args = ['tokenize', model, '--bos', '--eos', '--lines', '--json', '-f', file];
  const printed = execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  return printed
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).ids);
}

/**
 * Measures sides in turn. `sides`: {name: {ways, measure(way)}}; the first round measures each way, the others the
 * fastest. Returns {name: {way, seconds: [one a round], facts}}.
 */
async function in_turn(sides, rounds, tell) {
  const found = {};
  for (let round = 0; round < rounds; ++round) {
    for (const [name, { ways, measure }] of Object.entries(sides)) {
      for (const way of round === 0 ? ways : [found[name].way]) {
        tell(
          `round ${round + 1} of ${rounds}: ${name}${ways.length > 1 ? `, ${way} at a time` : ''}`,
        );
        const { seconds, ...facts } = await measure(way);
        const best = found[name]?.seconds[0] ?? Infinity;
        if (round > 0) found[name].seconds.push(seconds);
        else if (seconds < best) found[name] = { way, seconds: [seconds], facts };
      }
    }
  }
  return found;
}

/** Of each peer: how many times as fast the side is, the median over the rounds, and the least and the most. */
function ratios_of(found, ours, peers) {
  return peers
    .filter((peer) => found[peer] !== undefined)
    .map((peer) => {
      const each = found[ours].seconds.map((seconds, i) => found[peer].seconds[i] / seconds);
      return { ours, peer, ratio: median(each), least: Math.min(...each), most: Math.max(...each) };
    });
}

/** The largest difference between two vectors. */
const distance = (a, b) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));

async function measure_natively(program, model, { texts, threads, rounds, llama, tell }) {
  return with_file(texts, async (file) => {
    const sides = {
      native: { ways: [0], measure: async () => embed_natively(program, model, file, threads) },
      ...(llama && {
        'llama.cpp': {
          ways: LLAMA_BATCHES,
          measure: (batch) => embed_with_llama(model, file, threads, batch),
        },
      }),
    };
    const found = await in_turn(sides, rounds, tell);
    return { found, ratios: ratios_of(found, 'native', ['llama.cpp']) };
  });
}

async function measure_in_chromium(
  program,
  models,
  onnx,
  { browser, texts, threads, rounds, tell },
) {
  const ids = await with_file(texts, async (file) => ids_of(program, models.F32, file));
  const how = { texts: ids, warm: WARM_TEXTS, threads };
  const sides = {};
  for (const [type, model] of Object.entries(models))
    sides[`chromium ${type}`] = {
      ways: [0],
      measure: () => embed_in_chromium(browser, model, how),
    };
  for (const [type, model] of Object.entries(onnx)) {
    sides[`onnxruntime-web ${type}`] = {
      ways: ORT_BATCHES,
      measure: (batch) => embed_with_ort(browser, model, { ...how, batch }),
    };
  }
  const found = await in_turn(sides, rounds, tell);
  const peers = Object.keys(onnx).map((type) => `onnxruntime-web ${type}`);
  const ratios = Object.keys(models).flatMap((type) => ratios_of(found, `chromium ${type}`, peers));
  const sample = (name) => found[name]?.facts.sample;
  const away =
    sample(peers[0]) === undefined ? null : distance(sample('chromium F32'), sample(peers[0]));
  for (const { facts } of Object.values(found)) delete facts.sample;
  return { found, ratios, away };
}

/** MiniLM in F32 and Q8_0 and its makers' folder; null, with a message, if it can't be had. */
async function find_minilm(program) {
  try {
    const { folder } = await real_encoder();
    const file = (type) => converted_encoder(program, folder, type, MADE);
    return { folder, models: { F32: file('F32'), Q8_0: file('Q8_0') } };
  } catch (error) {
    if (!(error instanceof NotToBeHad)) throw error;
    console.log(`MiniLM is left out: ${error.message}`);
    return null;
  }
}

/**
 * Measures how fast texts become vectors. `tell(result)` gets each result as it comes: {model, side: 'native' | 'chromium',
 * threads, texts, rounds, found, ratios, away}. `away`: how far a vector is from onnxruntime-web's in F32.
 */
export async function measure_embedding(program, { sides, threads, rounds, count, browser, tell }) {
  const texts = embedding_texts(count);
  const say = (text) => console.error(text);
  const minilm = await find_minilm(program);
  if (sides.includes('native')) {
    const lacks = sides.includes('llama.cpp') ? embedding_lacks() : 'it was not asked for';
    if (lacks !== '') console.log(`llama-embedding is left out: ${lacks}`);
    const shapes = [await made_model(SHAPE, 'Q8_0'), await made_model(SHAPE, 'Q4_0')];
    for (const model of [...Object.values(minilm?.models ?? {}), ...shapes]) {
      for (const used of threads) {
        const name = path.basename(model);
        const how = { texts, threads: used, rounds, llama: lacks === '' };
        const result = await measure_natively(program, model, {
          ...how,
          tell: (text) => say(`${name}, threads: ${used}, ${text}`),
        });
        tell({ model: name, side: 'native', threads: used, texts: count, rounds, ...result });
      }
    }
  }
  if (browser === null || minilm === null) return;
  const { lacks, ...onnx } = onnx_models(minilm.folder, MADE);
  if (lacks !== undefined) console.log(`onnxruntime-web is left out: ${lacks}`);
  for (const used of threads) {
    const result = await measure_in_chromium(program, minilm.models, onnx, {
      browser,
      texts,
      threads: used,
      rounds,
      tell: (text) => say(`MiniLM in Chromium, threads: ${used}, ${text}`),
    });
    const side = `Chromium; onnxruntime-web ${ort_version()}`;
    tell({ model: 'all-MiniLM-L6-v2', side, threads: used, texts: count, rounds, ...result });
  }
}

/** A result as text. */
export function embedding_text({ model, side, threads, texts, rounds, found, ratios, away }) {
  const table = [['', 'texts/s', 'seconds', 'at a time']];
  for (const [name, { way, seconds }] of Object.entries(found)) {
    const middle = median(seconds);
    const cells = [fixed(texts / middle, 1), fixed(middle, 2), way === 0 ? '' : String(way)];
    table.push([name, ...cells]);
  }
  const lines = [
    `${model}, ${side}, threads: ${threads}: ${texts} texts, medians of ${rounds} rounds in turn`,
    aligned(table),
    ...ratios.map(
      ({ ours, peer, ratio, least, most }) =>
        `${ours} is ${fixed(ratio, 2)} times as fast as ${peer} (${fixed(least, 2)} to ${fixed(most, 2)})`,
    ),
    ...(away === undefined || away === null
      ? []
      : [`in F32 the first vector's numbers are at most ${away.toExponential(1)} apart`]),
  ];
  return `${lines.join('\n')}\n`;
}
