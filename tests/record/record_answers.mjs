// Records llama.cpp's answers for the tiny models and the bundled one in tests/data/answers.json. Keeps the answers that
// were recorded for the same file.
//   node scripts/setup.mjs llama && node tests/record/record_answers.mjs [BUILD_DIR]      (default build/release)
//
// Log-probabilities are those of the raw logits, with an f32 KV cache, and every prompt is computed from its beginning.
// For each step llama-server generates one token, with a bias that makes it the letter a, because the server gives no
// log-probabilities for an incomplete character. The bias does not change the log-probabilities.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {
  Failure,
  ROOT,
  capture,
  main,
  must,
  read_json,
  which,
  write_atomically,
} from '../../scripts/lib.mjs';

const MODELS = path.join(ROOT, 'build', 'answers');
const BUNDLED = path.join(ROOT, 'web', 'app', 'public', 'models', 'stories-q8_0.gguf');
const RESULT = path.join(ROOT, 'tests', 'data', 'answers.json');
const PORT = 18347;
const STEPS = 5;
const BEST = 10;

/** The lengths of the prompts for every model, and a long one that crosses the end of a chunk of the cache (256). */
const LENGTHS = [1, 6, 33];
const LONG = 300;
const WITH_LONG = new Set([
  'stories-q8_0',
  'llama-f32',
  'qwen2-q8_0',
  'qwen3-f32',
  'llama-odd-q4_0',
  'gpt2-q8_0',
  'gemma3-f32',
  'gemma3-q8_0',
  'gemma3-wide-f32',
  'qwen35-f32',
  'gemma4-f32',
  'gemma4-odd-f32',
]);

/** One model for each vocabulary. */
const VOCABULARIES = [
  ...['stories-q8_0', 'llama-f32', 'llama-odd-f32', 'llama-freqs-f32', 'llama-keylen-f16'],
  ...['llama-keylen-q8_0', 'qwen2-f32'],
];
const TEXTS = [
  ...['', ' ', '  two  spaces ', 'the', 'The end.', 'Once upon a time, there was a red stone.'],
  ...[
    "I'm sure they'LL see; we've 1234567 of them!",
    'Zebra',
    ' Zebra Zebra',
    '\n\n\ttabs\r\n and lines\n',
  ],
  ...[
    'caf\u00e9 na\u00efve \u65e5\u672c\u8a9e \ud83d\ude42',
    '<|im_start|>user</s><s>',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  ],
  ...['x=3.14*(y-2)**2; // "code"', 'ing and the thethe andand  on'],
];

function fnv1a(bytes) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

/** n token ids, the same each time. */
function random_ids(n, n_vocab, seed) {
  let state = seed;
  return Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n_vocab);
  });
}

async function post(where, body) {
  const response = await fetch(`http://127.0.0.1:${PORT}${where}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Failure(`llama-server: ${where}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Starts llama-server with a model, waits until it answers, calls `body` and ends it. */
async function with_server(file, body) {
  const args = [
    '-m',
    file,
    '--host',
    '127.0.0.1',
    '--port',
    String(PORT),
    '-c',
    '512',
    '-np',
    '1',
    '-t',
    '2',
  ];
  args.push(
    '-ctk',
    'f32',
    '-ctv',
    'f32',
    '-fa',
    'off',
    '--no-repack',
    '-lm',
    'none',
    '--no-warmup',
  );
  args.push('--offline', '--no-ui', '-cram', '0');
  const direct = which('llama-server') !== null;
  const inside = [path.join(ROOT, 'scripts', 'emscripten.mjs'), '--', 'llama-server', ...args];
  const log = fs.openSync(path.join(MODELS, 'llama-server.log'), 'w');
  const stdio = ['ignore', log, log];
  const server = direct
    ? spawn('llama-server', args, { stdio })
    : spawn(process.execPath, inside, { stdio });
  const ended = new Promise((resolve) => server.on('close', resolve));
  try {
    for (;;) {
      if (server.exitCode !== null) {
        throw new Failure(`llama-server ended; see ${path.join(MODELS, 'llama-server.log')}`);
      }
      const ready = await fetch(`http://127.0.0.1:${PORT}/health`).then(
        (response) => response.ok,
        () => false,
      );
      if (ready) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return await body();
  } finally {
    server.kill();
    await ended;
    fs.closeSync(log);
  }
}

async function tokenize(content) {
  return (await post('/tokenize', { content, add_special: false, parse_special: false })).tokens;
}

async function record_case(prompt, letter) {
  const steps = [];
  const ids = [...prompt];
  for (let i = 0; i < STEPS; ++i) {
    const answer = await post('/completion', {
      prompt: ids,
      n_predict: 1,
      n_probs: BEST,
      temperature: 0,
      post_sampling_probs: false,
      cache_prompt: false,
      logit_bias: [[letter, 10000]],
    });
    const [probabilities] = answer.completion_probabilities ?? [];
    if (probabilities?.id !== letter || answer.tokens_evaluated !== ids.length) {
      throw new Failure(`llama-server gave something unexpected: ${JSON.stringify(answer)}`);
    }
    const best = probabilities.top_logprobs.map(({ id, logprob }) => [
      id,
      Number(logprob.toFixed(5)),
    ]);
    steps.push(best);
    ids.push(best[0][0]);
  }
  return { prompt, steps };
}

async function record_model(name, file, before) {
  const bytes = fs.readFileSync(file);
  if (before?.fnv1a === fnv1a(bytes)) return before;
  return with_server(file, async () => {
    const { data } = await fetch(`http://127.0.0.1:${PORT}/v1/models`).then((response) =>
      response.json(),
    );
    const letter = (await tokenize('a')).at(-1);
    const lengths = WITH_LONG.has(name) ? [...LENGTHS, LONG] : LENGTHS;
    const cases = [];
    for (const n of lengths) {
      cases.push(await record_case(random_ids(n, data[0].meta.n_vocab, bytes.length + n), letter));
    }
    const model = { bytes: bytes.length, fnv1a: fnv1a(bytes), cases };
    if (VOCABULARIES.includes(name)) {
      model.texts = [];
      for (const text of TEXTS) model.texts.push([text, await tokenize(text)]);
    }
    return model;
  });
}

main(async () => {
  const build = path.resolve(process.argv[2] ?? path.join(ROOT, 'build', 'release'));
  fs.rmSync(MODELS, { recursive: true, force: true });
  await must(path.join(build, 'tests', 'make_models'), [MODELS], { stdio: 'ignore' });
  const direct = which('llama-server') !== null;
  const version = direct
    ? capture('llama-server', ['--version'])
    : capture(process.execPath, [
        path.join(ROOT, 'scripts', 'emscripten.mjs'),
        '--',
        'llama-server',
        '--version',
      ]);
  const found = /version: (\S+) \(build (\d+)/.exec(version.stdout + version.stderr);
  const engine = found === null ? 'of unknown version' : `${found[1]} (build ${found[2]})`;

  const before = fs.existsSync(RESULT) ? read_json(RESULT).models : {};
  const models = {};
  const names = fs
    .readdirSync(MODELS)
    .filter((file) => file.endsWith('.gguf') && !file.includes('scattered'))
    // With 4 bits a router chooses other experts if activations are rounded otherwise, as here.
    .filter((file) => !file.startsWith('qwen3moe-q4'));
  for (const file of names.sort()) {
    const name = path.basename(file, '.gguf');
    models[name] = await record_model(name, path.join(MODELS, file), before[name]);
    console.error(`${name}: ${models[name].cases.length} prompts`);
  }
  models['stories-q8_0'] = await record_model('stories-q8_0', BUNDLED, before['stories-q8_0']);

  // One line for each case: readable, and small.
  const rows = Object.entries(models).map(([name, { cases, texts, ...facts }]) => {
    const lines = cases.map((one) => `   ${JSON.stringify(one)}`).join(',\n');
    const ids =
      texts === undefined
        ? ''
        : `,\n  "texts": [\n${texts.map((t) => `   ${JSON.stringify(t)}`).join(',\n')}]`;
    return ` ${JSON.stringify(name)}: {${JSON.stringify(facts).slice(1, -1)},\n  "cases": [\n${lines}]${ids}}`;
  });
  const about = `llama.cpp ${engine}: tests/record/record_answers.mjs`;
  write_atomically(
    RESULT,
    `{"engine": ${JSON.stringify(about)}, "models": {\n${rows.join(',\n')}}}\n`,
  );
  console.error(`${RESULT}: ${fs.statSync(RESULT).size} bytes`);
});
