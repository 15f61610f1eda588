// Runs the program, and writes small files for it.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const program = process.env.SLUICE_BIN ?? join(root, 'build', 'release', 'sluice');
export const bundled = join(root, 'web', 'app', 'public', 'models', 'stories-q8_0.gguf');
const shared = join(root, '..', 'shared');

if (!existsSync(program)) {
  throw new Error(`there is no ${program}; build it with npm run build, or set SLUICE_BIN`);
}

/** How long a program may run. Only one that hangs takes so long. */
export const PROGRAM_MS = 120_000;

export const environment = {
  ...process.env,
  SLUICE_MODEL_DIR: dirname(bundled),
  SLUICE_KERNELS: '',
};

// Runs the program to its end: {status, signal, out, err}, texts in UTF-8.
export function sluice(args, { input = '', env = {}, cwd } = {}) {
  const done = spawnSync(program, args, {
    input,
    cwd,
    env: { ...environment, ...env },
    maxBuffer: 1 << 28,
    timeout: PROGRAM_MS,
  });
  if (done.error) throw done.error;
  return {
    status: done.status,
    signal: done.signal,
    out: done.stdout.toString('utf8'),
    err: done.stderr.toString('utf8'),
  };
}

// What a failed test leaves running is ended with the tests of its file; otherwise Node would wait for it.
const started = new Set();
after(() => started.forEach((child) => child.kill('SIGKILL')));
export function keep(child) {
  started.add(child);
  child.on('close', () => started.delete(child));
  return child;
}

// Starts the program, for tests that send it signals: {child, ended: a promise of {status, signal, out, err}}.
export function start(args, env = {}, cwd = undefined) {
  const options = {
    cwd,
    env: { ...environment, ...env },
    timeout: PROGRAM_MS,
    killSignal: 'SIGKILL',
  };
  const child = keep(spawn(program, args, options));
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => (out += data));
  child.stderr.on('data', (data) => (err += data));
  const ended = new Promise((resolve) =>
    child.on('close', (status, signal) => resolve({ status, signal, out, err })),
  );
  return { child, ended };
}

// Runs a line of shell, in which $SLUICE is the program.
export function shell(line) {
  const done = spawnSync('bash', ['-c', line], {
    env: { ...environment, SLUICE: program },
    timeout: PROGRAM_MS,
  });
  return { status: done.status, out: done.stdout.toString(), err: done.stderr.toString() };
}

export function events(out) {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
after(() => rmSync(folder, { recursive: true, force: true }));

// The path of a temporary file, which is removed after the tests. Without contents the file is not written.
export function temporary(name, contents) {
  const path = join(folder, name);
  if (contents !== undefined) writeFileSync(path, contents);
  return path;
}

// An empty temporary directory, which is removed after the tests.
export function temporaryDirectory() {
  return mkdtempSync(join(folder, 'dir-'));
}

// Writes a copy of the bundled model with `bytes` at `place` in a tensor's data; returns its path.
export function damaged(name, tensor, place, bytes) {
  const { tensors, dataOffset } = JSON.parse(sluice(['inspect', bundled, '--json']).out);
  const file = readFileSync(bundled);
  bytes.copy(file, dataOffset + tensors.find((each) => each.name === tensor).offset + place);
  return temporary(name, file);
}

// Writes a copy of the bundled model with more metadata; returns its path.
export function withMetadata(name, metadata) {
  const file = readFileSync(bundled);
  const entries = Object.entries(metadata).map(([key, value]) => Buffer.concat([text(key), value]));
  // The data stay aligned if the header grows by a multiple of their alignment.
  const bytes = entries.reduce((sum, { length }) => sum + length, 0);
  const filler = Buffer.concat([text('test.filler'), kv.string('')]);
  const missing = 32 - ((bytes + filler.length) % 32);
  entries.push(Buffer.concat([text('test.filler'), kv.string('x'.repeat(missing))]));
  file.writeBigUInt64LE(file.readBigUInt64LE(16) + BigInt(entries.length), 16);
  return temporary(name, Buffer.concat([file.subarray(0, 24), ...entries, file.subarray(24)]));
}

// {path, skip} of a file of test data; `skip` is the reason to skip the test if there is no such file.
export function optional(path) {
  const full = join(shared, path);
  return existsSync(full)
    ? { path: full, skip: false }
    : { path: full, skip: `no ../shared/${path}` };
}

// --- GGUF ----------------------------------------------------------------------------------------

const u32 = (n) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(n);
  return bytes;
};
const u64 = (n) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(n));
  return bytes;
};
const f32 = (n) => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(n);
  return bytes;
};
const text = (s) => {
  const bytes = Buffer.isBuffer(s) ? s : Buffer.from(s);
  return Buffer.concat([u64(bytes.length), bytes]);
};

// Metadata values with their types.
export const kv = {
  u32: (n) => Buffer.concat([u32(4), u32(n)]),
  f32: (n) => Buffer.concat([u32(6), f32(n)]),
  string: (s) => Buffer.concat([u32(8), text(s)]),
  strings: (list) => Buffer.concat([u32(9), u32(8), u64(list.length), ...list.map(text)]),
  f32s: (list) => Buffer.concat([u32(9), u32(6), u64(list.length), ...list.map(f32)]),
  i32s: (list) => Buffer.concat([u32(9), u32(5), u64(list.length), ...list.map(u32)]),
};

// A whole file. Tensors are {name, type, shape, bytes}; their data are zeros.
export function gguf(metadata, tensors = []) {
  let offset = 0;
  const infos = tensors.map(({ name, type, shape, bytes }) => {
    const info = Buffer.concat([
      text(name),
      u32(shape.length),
      ...shape.map(u64),
      u32(type),
      u64(offset),
    ]);
    offset += Math.ceil(bytes / 32) * 32;
    return info;
  });
  const entries = Object.entries(metadata).map(([key, value]) => Buffer.concat([text(key), value]));
  const header = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(entries.length),
    ...entries,
    ...infos,
  ]);
  return Buffer.concat([
    header,
    Buffer.alloc(Math.ceil(header.length / 32) * 32 - header.length + offset),
  ]);
}

// A SentencePiece vocabulary: the 256 bytes and a few words.
export function smallVocabulary() {
  const bytes = Array.from(
    { length: 256 },
    (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const words = ['\u2581', 'h', 'i', 'hi', '\u2581hi'];
  const tokens = ['<unk>', '<s>', '</s>', ...bytes, ...words];
  return {
    'tokenizer.ggml.model': kv.string('llama'),
    'tokenizer.ggml.tokens': kv.strings(tokens),
    'tokenizer.ggml.scores': kv.f32s(tokens.map((_, i) => (i > 258 ? i : 0))),
    'tokenizer.ggml.token_type': kv.i32s(
      tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1)),
    ),
    'tokenizer.ggml.bos_token_id': kv.u32(1),
    'tokenizer.ggml.eos_token_id': kv.u32(2),
  };
}
