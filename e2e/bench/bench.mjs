// Compares the speed of Sluice and its peers on the same files, in turn.
//   npm run bench -- [MODEL...] [options]
//     MODEL             GGUF files; without one the bundled model and random weights in the shapes of real models
//     --models a,b      of those: bundled, smollm2-135m, qwen3-0.6b, llama-3.2-1b; or other shapes: lfm2-350m, gemma-3-1b,
//                       gemma4-e2b, qwen3.5-0.8b; or gemma-3-270m, a real model, which is fetched if it isn't there
//                       (scripts/real-model.mjs)
//     --types a,b       of those shapes: Q4_0 and Q8_0 unless others are named (F16, Q4_K_M, Q6_K, ...)
//     --sides a,b       of native, llama.cpp, chromium, wllama
//     -p N -n N         tokens of the prompt (256), and to decode from an empty context (32; 200 with models below 50 MB)
//     -r N              rounds (5); every figure is the median over them
//     -t 1,2            numbers of threads
//     --depth N         also decodes after N tokens of context
//     --page            instead: decodes in Chromium in a tab that is visible, hidden or busy
//     --against DIR     instead: compares with another checkout that is built, in pairs; native and Chromium
//     --first-token     instead: the time from opening the built page to the first token of its own model, cold and warm;
//                       with --against, in turn with the other checkout's page
//     --kept            instead: loads in Chromium without the cache, into it and from it, beside a plain read of the file
//     --promises        instead: the speed that Engine.measure and a first text promise, and what is then reached, in
//                       Chromium, quiet and with one core busy
//     --streaming       instead: the first token of a model that is being downloaded at a given rate (one round; -r N);
//                       of a made model in several ways, or of each MODEL
//     --budget          instead: a model of 700 MB under 300 MB, natively and in Chromium
//     --beyond          instead: a model of 4.7 GB in Chromium, under 1.5 GB
//     --quantize        instead: quantizes the F16 file of the shape of Qwen3-0.6B (or each MODEL) to --types (Q4_K_M and
//                       Q8_0), beside llama-quantize
//     --embed           instead: makes vectors of 200 texts of 10 to 500 tokens, natively beside llama-embedding (MiniLM
//                       and the shape of EmbeddingGemma 300M) and in Chromium beside onnxruntime-web (MiniLM); -r 3, -t 2
//     --network a,b     with --first-token: of localhost, fast-4g, slow-4g
//     --cpu N           with --first-token: slows the page's own thread N times
//     --quick           one short round of the bundled model, to see that it runs; too short for a comparison
//     --json FILE       writes all figures and samples
//     --markdown FILE   writes tables
import fs from 'node:fs';
import path from 'node:path';
import { Failure, interrupted, main } from '../../scripts/lib.mjs';
import { build_program, build_web } from '../../scripts/build.mjs';
import {
  Browser,
  chromium_lacks,
  measure_page,
  measure_sluice,
  measure_wllama,
  wllama_lacks,
} from './chromium.mjs';
import {
  SHAPES,
  TYPES,
  USUAL_TYPES,
  find_models,
  made_model,
  text_of_tokens,
  usual_tokens,
} from './models.mjs';
import { kv_bytes_per_token, llama_lacks, measure_llama, measure_native } from './programs.mjs';
import { check_checkout, measure_against } from './against.mjs';
import { NETWORKS, measure_first_token } from './first_token.mjs';
import { measure_kept } from './kept.mjs';
import { measure_promises } from './promises.mjs';
import { embedding_text, measure_embedding } from './embedding.mjs';
import { measure_quantizing, quantizing_text } from './quantize.mjs';
import { measure_streaming } from './streaming.mjs';
import { measure_beyond, measure_budget } from './budget.mjs';
import { beyond_text, budget_text, streaming_text } from './stream_tables.mjs';
import { SIDES, describe_machine, median, summarize } from './figures.mjs';
import {
  against_text,
  first_token_text,
  kept_text,
  markdown_of,
  page_text,
  promises_text,
  text_of,
} from './tables.mjs';

const FLAGS = [
  ...['--page', '--first-token', '--kept', '--quick', '--promises'],
  ...['--streaming', '--budget', '--beyond', '--quantize', '--embed'],
];
const NUMBERS = { '-p': 'p', '-n': 'n', '-r': 'r', '--depth': 'depth', '--cpu': 'cpu' };
const LISTS = {
  '-t': 'threads',
  '--models': 'models',
  '--types': 'types',
  '--sides': 'sides',
  '--network': 'networks',
};
const FILES = { '--json': 'json', '--markdown': 'markdown', '--against': 'against' };

/** The comment at the head of this file. */
function usage() {
  const lines = fs.readFileSync(new URL(import.meta.url), 'utf8').split('\n');
  const head = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('//')),
  );
  return head.map((line) => line.replace(/^\/\/ ?/, '')).join('\n');
}

function options_of(args) {
  const quick = args.includes('--quick');
  const page = args.includes('--page');
  const options = {
    p: quick ? 16 : 256,
    n: quick ? 8 : null,
    r: quick ? 1 : null,
    depth: 0,
    page,
    quick,
    threads: args.includes('--embed') ? [2] : [1, 2],
    types: USUAL_TYPES,
    sides: Object.keys(SIDES),
    json: null,
    markdown: null,
    first_token: args.includes('--first-token'),
    kept: args.includes('--kept'),
    streaming: args.includes('--streaming'),
    budget: args.includes('--budget'),
    beyond: args.includes('--beyond'),
    promises: args.includes('--promises'),
    against: null,
    cpu: 1,
    quantize: args.includes('--quantize'),
    embed: args.includes('--embed'),
    networks: ['localhost'],
    // null: none is named
    models: null,
    files: [],
  };
  const from = process.env.INIT_CWD ?? process.cwd();
  const rest = [...args];
  const value = (arg, pattern) => {
    if (!pattern.test(rest[0] ?? '')) throw new Failure(`${arg} takes a value; see --help`);
    return rest.shift();
  };
  while (rest.length > 0) {
    const arg = rest.shift();
    if (FLAGS.includes(arg)) continue;
    if (arg in NUMBERS) options[NUMBERS[arg]] = Number(value(arg, /^[1-9]\d*$/));
    else if (arg === '-t')
      options.threads = value(arg, /^[1-9]\d*(,[1-9]\d*)*$/)
        .split(',')
        .map(Number);
    else if (arg in LISTS) options[LISTS[arg]] = value(arg, /^[^-]/).split(',');
    else if (arg in FILES) options[FILES[arg]] = path.resolve(from, value(arg, /^[^-]/));
    else if (!arg.startsWith('-')) options.files.push(path.resolve(from, arg));
    else throw new Failure(`unknown option ${arg}; --help lists them`);
  }
  // The types that files are quantized to are named as llama-quantize names them.
  if (options.quantize && options.types === USUAL_TYPES) options.types = ['Q4_K_M', 'Q8_0'];
  // A round of these takes minutes.
  const long = options.streaming || options.budget || options.beyond;
  options.r ??= long ? 1 : options.embed ? 3 : 5;
  const types = options.quantize ? options.types : TYPES;
  const lists = { types, sides: Object.keys(SIDES), networks: Object.keys(NETWORKS) };
  for (const [name, known] of Object.entries(lists)) {
    const odd = options[name].find((one) => !known.includes(one));
    if (odd !== undefined) throw new Failure(`${odd} is none of the ${name} ${known.join(', ')}`);
  }
  if (options.against !== null && !options.first_token) {
    if (page || options.depth > 0 || options.markdown !== null)
      throw new Failure('--against takes neither --page nor --depth nor --markdown');
    if (!options.sides.some((side) => side === 'native' || side === 'chromium'))
      throw new Failure('--against measures native and chromium alone');
  }
  for (const file of options.files) {
    if (!fs.existsSync(file)) throw new Failure(`there is no file ${file}`);
  }
  return options;
}

/** The wanted sides that can be measured here, in their order. Prints why the others can't. */
function sides_of(wanted) {
  const lacks = {
    native: '',
    'llama.cpp': llama_lacks(),
    chromium: chromium_lacks(),
    wllama: chromium_lacks() || wllama_lacks(),
  };
  for (const side of wanted) {
    if (lacks[side] !== '') console.log(`${SIDES[side]} is left out: ${lacks[side]}`);
  }
  return Object.keys(SIDES).filter((side) => wanted.includes(side) && lacks[side] === '');
}

/** Measures a model's sides in turn: in a round each side runs once with each number of threads. */
async function compare(model, sides, { program, browser, options }) {
  const { p, r, depth } = options;
  const n = options.n ?? usual_tokens(model);
  // wllama takes only texts, no tokens.
  const text = (tokens, salt) => text_of_tokens(program, model, tokens, salt);
  const texts = sides.includes('wllama')
    ? { warm: text(Math.min(p, 32), 1), prompt: text(p, 2) }
    : null;
  const measure = {
    native: (how) => measure_native(program, model, how),
    'llama.cpp': (how) => measure_llama(model, how),
    chromium: (how) => measure_sluice(browser, model, how),
    wllama: (how) => measure_wllama(browser, model, { ...how, texts }),
  };
  const measurements = [];
  const failed = new Set();
  for (let round = 0; round < r; ++round) {
    for (const threads of options.threads) {
      for (const side of sides.filter((one) => !failed.has(one))) {
        console.error(`round ${round + 1} of ${r}: ${SIDES[side]}, threads: ${threads}`);
        try {
          const { figures, facts } = await measure[side]({ p, n, depth, threads });
          measurements.push({ side, threads, figures, facts });
        } catch (error) {
          if (side === 'native' || interrupted()) throw error;
          failed.add(side);
          console.log(`${SIDES[side]} is left out: ${error.message}`);
        }
      }
    }
  }
  const kept = measurements.filter(({ side }) => !failed.has(side));
  const kv_bytes = depth > 0 ? kv_bytes_per_token(program, model, depth) : null;
  return {
    model: path.basename(model),
    file_bytes: fs.statSync(model).size,
    prompt_tokens: p,
    tokens: n,
    rounds: r,
    depth,
    ...(kv_bytes === null ? {} : { kv_bytes_per_position: kv_bytes }),
    ...summarize(kept, { kv_bytes, depth }),
  };
}

/** A model's rates in a tab that is visible, hidden or busy. */
async function compare_pages(model, { browser, options }) {
  const n = options.n ?? usual_tokens(model);
  const page = [];
  for (const threads of options.threads) {
    console.error(`decoding in tabs, threads: ${threads}`);
    const found = await measure_page(browser, model, { n, r: options.r, threads });
    for (const state of ['visible', 'hidden', 'busy']) {
      if (found[state] === undefined) continue;
      const decode_tps = median(found[state]);
      const share = decode_tps / median(found.visible);
      page.push({ state, threads: found.threads, decode_tps, share, samples: found[state] });
    }
  }
  return { model: path.basename(model), tokens: n, rounds: options.r, page };
}

/** Measures the time from opening the page to its first token, over each of the networks. */
async function compare_first_tokens({ against, r, cpu, networks, json }) {
  if (chromium_lacks() !== '') throw new Failure(`Chromium is not there: ${chromium_lacks()}`);
  await build_web();
  const first_token = [];
  for (const network of networks) {
    first_token.push(await measure_first_token({ against, rounds: r, network, cpu }));
    console.log(first_token_text(first_token.at(-1)));
  }
  const report = { machine: describe_machine(), first_token };
  if (json !== null) fs.writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
}

/** Measures the time to the first token of a model that is being downloaded. */
async function measure_streams(program, named, { quick, r, json }) {
  const report = { machine: describe_machine(), streaming: [] };
  const tell = (result) => {
    report.streaming.push(result);
    console.log(streaming_text(result));
    if (json !== null) fs.writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  };
  await measure_streaming({ program, named, quick, rounds: r, tell });
}

/** Measures a model under a memory budget. Returns the exit status: 1 if a side failed or computed something else. */
async function measure_budgets(program, { quick, beyond, threads, sides, json }) {
  const report = { machine: describe_machine() };
  if (beyond) report.beyond = await measure_beyond({ program, quick });
  else report.budget = await measure_budget({ program, threads, quick, sides });
  console.log(beyond ? beyond_text(report.beyond) : budget_text(report.budget));
  if (json !== null) fs.writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  const { rows } = report.beyond ?? report.budget;
  return rows.every(({ same_hashes }) => same_hashes === true) ? 0 : 1;
}

/** Measures how fast files are quantized. Returns the exit status: 1 if a file isn't llama-quantize's. */
async function compare_quantizing(program, options) {
  const { files, types, threads, r: rounds, json } = options;
  const lacks = llama_lacks();
  if (lacks !== '') console.log(`llama-quantize is left out: ${lacks}`);
  const report = { machine: describe_machine(), quantize: [] };
  for (const model of files.length > 0 ? files : [await made_model('qwen3-0.6b', 'F16')]) {
    const how = { types, threads, rounds, llama: lacks === '' };
    report.quantize.push(await measure_quantizing(program, model, how));
    console.log(quantizing_text(report.quantize.at(-1)));
    if (json !== null) fs.writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return report.quantize.every(({ rows }) => rows.every(({ same }) => same !== false)) ? 0 : 1;
}

/** Measures how fast texts become vectors. */
async function compare_embedding(program, { sides, threads, r: rounds, quick, json }) {
  const report = { machine: describe_machine(), embed: [] };
  const tell = (result) => {
    report.embed.push(result);
    console.log(embedding_text(result));
    if (json !== null) fs.writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  };
  const count = quick ? 8 : 200;
  const lacks = chromium_lacks();
  const in_browser = sides.includes('chromium') && lacks === '';
  if (lacks !== '') console.log(`Chromium is left out: ${lacks}`);
  if (in_browser) await build_web();
  const browser = in_browser ? await Browser.launch() : null;
  try {
    await measure_embedding(program, { sides, threads, rounds, count, browser, tell });
  } finally {
    await browser?.close();
  }
}

/** Measures what keeping each model on the device costs and gains. */
async function measure_keeping(models, { r, json }) {
  const report = { machine: describe_machine(), kept: [] };
  for (const model of models) {
    report.kept.push(await measure_kept(model, r));
    console.log(kept_text(report.kept.at(-1)));
  }
  if (json !== null) fs.writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
}

/** Measures the promises of speed for each model. */
async function compare_promises(models, { browser, options }) {
  const report = { machine: describe_machine(), promises: [] };
  for (const model of models) {
    const n = options.n ?? usual_tokens(model);
    report.promises.push(await measure_promises(browser, model, { n, r: options.r }));
    console.log(promises_text(report.promises.at(-1)));
    if (options.json !== null)
      fs.writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  }
}

/** Compares this checkout with another one on each model. */
async function compare_checkouts(models, sides, { browser, options }) {
  const { against, threads, p, r, json } = options;
  check_checkout(against, sides);
  const report = { machine: describe_machine(), against: [] };
  for (const model of models) {
    const n = options.n ?? usual_tokens(model);
    const how = { browser, against, sides, threads, p, n, rounds: r };
    report.against.push(await measure_against(model, how));
    console.log(against_text(report.against.at(-1)));
    if (json !== null) fs.writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  }
}

/** The versions of the peers, from their measurements. */
function versions_of(models, browser) {
  const versions = browser === null ? {} : { Chromium: browser.version };
  for (const { side, version } of models.flatMap(({ rows }) => rows ?? [])) {
    if (version !== undefined) versions[side] = version;
  }
  return versions;
}

main(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) return console.log(usage());
  const options = options_of(args);
  if (options.first_token) return compare_first_tokens(options);
  const ours = ['native', 'chromium'].filter((side) => options.sides.includes(side));
  const program = await build_program();
  if (options.quantize) return compare_quantizing(program, options);
  if (options.embed) return compare_embedding(program, options);
  await build_web();
  const models = [...options.files, ...(await find_models(options.models ?? [], options.types))];
  if (options.streaming) return measure_streams(program, models, options);
  if (options.budget || options.beyond) return measure_budgets(program, options);
  const sides = sides_of(
    options.page || options.promises ? ['chromium'] : options.against ? ours : options.sides,
  );
  if (models.length === 0) {
    // The bundled model stays in the processor's caches: nothing is promised for it.
    const all = options.promises ? SHAPES : ['bundled', ...SHAPES];
    const usual = options.quick || options.page ? ['bundled'] : all;
    models.push(...(await find_models(usual, options.types)));
  }
  if (options.kept) return measure_keeping(models, options);
  const report = { machine: describe_machine(), versions: {}, models: [] };
  const in_browser = sides.some((side) => side === 'chromium' || side === 'wllama');
  const browser = in_browser ? await Browser.launch() : null;
  try {
    if (options.promises) return await compare_promises(models, { browser, options });
    if (options.against !== null)
      return await compare_checkouts(models, sides, { browser, options });
    for (const model of models) {
      const result = options.page
        ? await compare_pages(model, { browser, options })
        : await compare(model, sides, { program, browser, options });
      console.log(options.page ? page_text(result) : text_of(result));
      report.models.push(result);
      report.versions = versions_of(report.models, browser);
      // Written after every model, so that a long run that is interrupted leaves its results.
      if (options.json !== null)
        fs.writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
      if (options.markdown !== null) fs.writeFileSync(options.markdown, markdown_of(report));
    }
    if (args.includes('--quick')) console.log('One short round: too short for a comparison.');
  } finally {
    await browser?.close();
  }
});
