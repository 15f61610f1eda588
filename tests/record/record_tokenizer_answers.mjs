// Records the ids that llama.cpp gives for test strings in tests/data/tokenizer_answers.json, with the
// bundled model's vocabulary and each pre-tokenizer, and with a SentencePiece vocabulary made here.
//   node scripts/setup.mjs llama && node tests/record/record_tokenizer_answers.mjs
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT, main, which, write_atomically } from '../../scripts/lib.mjs';

const WORK = path.join(ROOT, 'build', 'answers');
const BUNDLED = path.join(ROOT, 'web', 'app', 'public', 'models', 'stories-q8_0.gguf');
const RESULT = path.join(ROOT, 'tests', 'data', 'tokenizer_answers.json');
const PORT = 18349;

const PRE_TOKENIZERS = ['gpt-2', 'llama-bpe', 'qwen2', 'smollm', 'default'];

const TEXTS = [
  ...[
    '',
    ' ',
    '  ',
    '   x',
    '\n',
    '\n\n\n',
    '\r\n',
    '\t\t a',
    ' \n x',
    'a \n\n  b',
    'end  ',
    ' \t',
  ],
  ...['Once upon a time', 'The little girl said, "Hello!"', 'hello world', ' hello', '  hello'],
  ...["it's I'm we're they've he'll she'd", "IT'S I'M WE'RE THEY'VE HE'LL SHE'D", "'s 'S 'x '' 'l"],
  ...['1', '12', '123', '1234', '12345678', '3.14159', '1,234,567', 'a1b22c333d4444', ' 42 007'],
  ...['٣٤٥', '１２３', '1１23４5', '½ Ⅷ 10²', '12٣45', '1 1', '1234٣1234', 'x2=y3'],
  ...[
    'a_b-c+d',
    '$5 <b>=^~|`',
    '!!!???...',
    '...\n\n...',
    '?!\r\n\r\nx',
    '({[<>]})',
    '"\'`',
    '-->',
  ],
  ...['é', 'naïve café', 'Привет, мир!', '你好，世界', 'こんにちは', '한국어', 'हिन्दी', 'ﬁ ǅ ª'],
  ...[
    '😀',
    '👨‍👩‍👧 family',
    '🇫🇷',
    'e\u0301',
    '\u0301x',
    "ſ 'ſ",
    '\u00a0x\u00a0\u00a0y',
    '\u2003\u3000z',
  ],
  ...['\u0085a', '\u000b\u000c', '\u0000\u0001', '\u001ca', '\u200b\u200d', '\ufffd', '\ufeff'],
  ...['\u{2ebf0}\u{105c0}', '\u{10ffff}', '\u2028\u2029', 'aaaaaaaaaaaaaaaa', '                x'],
  ...['<|endoftext|>', 'a<|endoftext|>b', '<|endoftext|><|endoftext|> c', '<|endoftext', '</s>'],
];
const SPECIAL_TEXTS = [
  ...['<|user|>hello', 'a<|user|> b', '<s>x</s>', '<s><s> y', '<unk>', 'ab<<<c', '<<<<', '<<<<<<<'],
  ...[
    'abcdefg',
    'xabcdef',
    'abcabcd',
    'cdefgabcd',
    '  two',
    'a    b',
    '\n\n\n\n',
    '<0x41>',
    '[PAD]',
  ],
];

/** A SentencePiece vocabulary with equal scores, overlapping user-defined tokens and few characters. */
function spm_vocabulary() {
  const tokens = [];
  const known = new Set();
  const add = (text, type, score = 0) => {
    if (!known.has(text)) tokens.push({ text, type, score });
    known.add(text);
  };
  add('<unk>', 2);
  for (const text of ['<s>', '</s>', '<|system|>']) add(text, 3);
  for (const text of ['<|user|>', '<<', '<<<', 'abcd', 'cdefg', 'abc', '\n\n', '  ', '    '])
    add(text, 4);
  for (let byte = 0; byte < 256; ++byte) {
    add(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, 6);
  }
  const words =
    '▁hello ▁world ▁the ▁there ▁little ▁girl ▁said ▁Once ▁upon ▁time aaaa ▁▁▁▁ 1234 ... ing';
  let score = 0;
  for (const word of words.split(' ')) {
    const letters = [...word];
    for (let begin = 0; begin < letters.length; ++begin) {
      for (let end = begin + 2; end <= letters.length; ++end) {
        add(letters.slice(begin, end).join(''), 1, -Math.floor(score++ / 3));
      }
    }
  }
  for (let c = 0x21; c < 0x7f; ++c) add(String.fromCharCode(c), 1, -1000 - c);
  for (const c of '▁éПрив你好😀') add(c, 1, -2000);
  add('unused', 5, -3000);
  return tokens;
}

const SPM = {
  'tokenizer.ggml.model': 'llama',
  'tokenizer.ggml.bos_token_id': 1,
  'tokenizer.ggml.eos_token_id': 2,
  'tokenizer.ggml.unknown_token_id': 0,
};

// --- GGUF: the bundled model with another vocabulary ---------------------------------------------

const TYPE = { i32: 5, u32: 4, f32: 6, string: 8, array: 9 };
const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

const number = (value, bytes) => {
  const out = Buffer.alloc(bytes);
  if (bytes === 8) out.writeBigUInt64LE(BigInt(value));
  else out.writeInt32LE(value);
  return out;
};
const string = (text) => {
  const bytes = Buffer.from(text);
  return Buffer.concat([number(bytes.length, 8), bytes]);
};
const float = (value) => {
  const out = Buffer.alloc(4);
  out.writeFloatLE(value);
  return out;
};
const array = (type, items) => Buffer.concat([number(type, 4), number(items.length, 8), ...items]);

/** The file's metadata as [key, bytes from the value's type on], and where the list of tensors begins and ends. */
function read_metadata(file) {
  let at = 24;
  const u32 = () => file.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(file.readBigUInt64LE((at += 8) - 8));
  const skip_string = () => {
    const bytes = u64();
    at += bytes;
  };
  const skip = (type) => {
    if (type === TYPE.string) skip_string();
    else if (type === TYPE.array) {
      const element = u32();
      for (let n = u64(); n > 0; --n) skip(element);
    } else at += SCALAR_BYTES[type];
  };
  const entries = [];
  for (let n = Number(file.readBigUInt64LE(16)); n > 0; --n) {
    const length = u64();
    const key = file.toString('utf8', at, (at += length));
    const begin = at;
    skip(u32());
    entries.push([key, file.subarray(begin, at)]);
  }
  const tensors = at;
  for (let n = Number(file.readBigUInt64LE(8)); n > 0; --n) {
    skip_string();
    const dims = u32();
    at += 8 * dims + 12;
  }
  return { entries, tensors, end: at };
}

const aligned = (bytes) => Math.ceil(bytes / 32) * 32;

/** `file` with another vocabulary, padded with unused tokens to `n`. */
function with_vocabulary(file, vocabulary, n) {
  const { entries, tensors, end } = read_metadata(file);
  const all = [...vocabulary];
  while (all.length < n) all.push({ text: `[FILL${all.length}]`, type: 5, score: -9999 });
  const kept = entries.filter(([key]) => !key.startsWith('tokenizer.'));
  for (const [key, value] of Object.entries(SPM)) {
    const text = typeof value === 'string';
    const bytes = text ? string(value) : number(value, 4);
    kept.push([key, Buffer.concat([number(text ? TYPE.string : TYPE.u32, 4), bytes])]);
  }
  const list = (name, type, items) =>
    kept.push([
      `tokenizer.ggml.${name}`,
      Buffer.concat([number(TYPE.array, 4), array(type, items)]),
    ]);
  list(
    'tokens',
    TYPE.string,
    all.map((token) => string(token.text)),
  );
  list(
    'scores',
    TYPE.f32,
    all.map((token) => float(token.score)),
  );
  list(
    'token_type',
    TYPE.i32,
    all.map((token) => number(token.type, 4)),
  );
  const head = Buffer.concat([
    file.subarray(0, 16),
    number(kept.length, 8),
    ...kept.flatMap(([key, value]) => [string(key), value]),
    file.subarray(tensors, end),
  ]);
  const padding = Buffer.alloc(aligned(head.length) - head.length);
  return Buffer.concat([head, padding, file.subarray(aligned(end))]);
}

// --- llama.cpp -----------------------------------------------------------------------------------

/** The ids of each text, from llama-server with a model of whose metadata `override` changes a value. */
async function tokenize(model, override, texts, parse_special) {
  const args = ['-m', model, '--host', '127.0.0.1', '--port', `${PORT}`, '-c', '64', '--no-warmup'];
  args.push('--offline', '--no-ui', ...(override ? ['--override-kv', override] : []));
  const direct = which('llama-server') !== null;
  const inside = [path.join(ROOT, 'scripts', 'emscripten.mjs'), '--', 'llama-server', ...args];
  const log_file = path.join(WORK, 'llama-server.log');
  const log = fs.openSync(log_file, 'w');
  const stdio = ['ignore', log, log];
  const server = direct
    ? spawn('llama-server', args, { stdio })
    : spawn(process.execPath, inside, { stdio, detached: true });
  const ended = new Promise((resolve) => server.on('close', resolve));
  const url = `http://127.0.0.1:${PORT}`;
  try {
    while (
      !(await fetch(`${url}/health`).then(
        (r) => r.ok,
        () => false,
      ))
    ) {
      if (server.exitCode !== null) throw new Failure(`llama-server ended; see ${log_file}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const answers = [];
    for (const content of texts) {
      const body = JSON.stringify({ content, add_special: false, parse_special });
      const response = await fetch(`${url}/tokenize`, { method: 'POST', body });
      if (!response.ok) throw new Failure(`llama-server: ${await response.text()}`);
      answers.push((await response.json()).tokens);
    }
    return answers;
  } finally {
    if (direct) server.kill();
    else process.kill(-server.pid);
    await ended;
    fs.closeSync(log);
  }
}

main(async () => {
  fs.mkdirSync(WORK, { recursive: true });
  const bundled = path.join(WORK, 'tokenizer-bundled.gguf');
  const spm = path.join(WORK, 'tokenizer-spm.gguf');
  const file = fs.readFileSync(BUNDLED);
  const vocabulary = spm_vocabulary();
  fs.writeFileSync(bundled, file);
  fs.writeFileSync(spm, with_vocabulary(file, vocabulary, 2048));

  const cases = [];
  const record = async (model, name, key, value, parse_special, texts) => {
    const kind = typeof value === 'string' ? 'str' : 'bool';
    const answers = await tokenize(model, `${key}=${kind}:${value}`, texts, parse_special);
    cases.push({ vocabulary: name, set: { [key]: value }, parse_special, texts, ids: answers });
  };
  for (const pre of PRE_TOKENIZERS) {
    await record(bundled, 'bundled', 'tokenizer.ggml.pre', pre, false, TEXTS);
  }
  const some = TEXTS.filter((text) => text.includes('<'));
  await record(bundled, 'bundled', 'tokenizer.ggml.pre', 'gpt-2', true, some);
  for (const space of [true, false]) {
    for (const special of [false, true]) {
      const texts = [...TEXTS, ...SPECIAL_TEXTS];
      await record(spm, 'spm', 'tokenizer.ggml.add_space_prefix', space, special, texts);
    }
  }
  const lines = cases.map((one) => JSON.stringify(one));
  const head = `"source":"llama.cpp, Debian testing","spm":${JSON.stringify({ set: SPM, tokens: vocabulary })}`;
  write_atomically(RESULT, `{${head},\n"cases":[\n${lines.join(',\n')}\n]}\n`);
});
