// Shared by the wasm tests: opens a flavour under Node, loads a file into it, and runs the native program.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SHIPPED = path.join(ROOT, 'web/engine/dist/wasm');
/** The files that the library ships. build/wasm/ may be stale, or just be built. */
export const WASM_DIR =
  process.env.SLUICE_WASM_DIR ??
  (fs.existsSync(SHIPPED) ? SHIPPED : path.join(ROOT, 'wasm/prebuilt'));

export const FLAVOURS = JSON.parse(fs.readFileSync(path.join(ROOT, 'wasm/flavours.json'), 'utf8'));
/** Node 20 has only an old form of relaxed SIMD, so those flavours are tested in the browser. */
export const NODE_FLAVOURS = FLAVOURS.filter((flavour) => !flavour.startsWith('relaxed'));

export const BUNDLED = path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf');
export const PROGRAM = path.join(ROOT, 'build/release/sluice');
const TOOLS = path.join(ROOT, 'build/release/tests');

/** Why to skip a test: the first of these files that is missing. Else false. */
export function lacks(...programs) {
  const missing = programs.find((name) => !fs.existsSync(name));
  return missing === undefined
    ? false
    : `${path.relative(ROOT, missing)} is missing: npm test builds it`;
}
export const MAKE_HAZARDS = path.join(TOOLS, 'make_hazards');
export const MAKE_MODELS = path.join(TOOLS, 'make_models');

/** Runs a tool that writes files into a temporary directory; returns the directory. */
export function files_of(tool, ...args) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-wasm-'));
  process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
  execFileSync(tool, [dir, ...args]);
  return dir;
}

/** The JSON lines that the native program prints. */
export function native(...args) {
  const out = execFileSync(PROGRAM, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Opens a flavour: {module, memory, printed: the lines that it has printed}. `maximum`: of the memory, in pages. */
export async function open_module(flavour, { threads = 1, maximum = 65536 } = {}) {
  const glue = path.join(WASM_DIR, `sluice-${flavour}.mjs`);
  const code = await WebAssembly.compile(
    fs.readFileSync(path.join(WASM_DIR, `sluice-${flavour}.wasm`)),
  );
  const memory = new WebAssembly.Memory({ initial: 64, maximum, shared: flavour.endsWith('-mt') });
  const { default: create } = await import(pathToFileURL(glue).href);
  const printed = [];
  const module = await create({
    wasmMemory: memory,
    poolSize: threads - 1,
    print: (line) => printed.push(line),
    printErr: (line) => printed.push(line),
    instantiateWasm: (imports, done) => {
      void WebAssembly.instantiate(code, imports).then((instance) => done(instance, code));
      return {};
    },
  });
  return { module, memory, printed };
}

/** The JSON of an answer, null if it is empty. Throws if the answer is an error. */
export function parse(answer) {
  if (answer === '') return null;
  const value = JSON.parse(answer);
  if (value.event === 'error') throw Object.assign(new Error(value.message), { code: value.code });
  return value;
}

/** Brings `bytes` to an engine in pieces of `size`, in the file's order. */
export function bring({ memory }, engine, bytes, size = bytes.length) {
  let wants = null; // of the weights: offset, address and length of each
  for (let at = 0; at < bytes.length && !engine.loaded();) {
    const header = !engine.hasLayout();
    if (header || wants === null) wants = engine.wants(Number.MAX_SAFE_INTEGER);
    const end = Math.min(at + size, header ? at + wants[2] : bytes.length, bytes.length);
    for (let i = 0; i < wants.length; i += 3) {
      const from = Math.max(at, wants[i]);
      const to = Math.min(end, wants[i] + wants[i + 2]);
      if (from >= to) continue;
      const place = new Uint8Array(memory.buffer, wants[i + 1] + (from - wants[i]), to - from);
      place.set(bytes.subarray(from, to));
    }
    parse(engine.filled(at, end - at, false));
    if (header && engine.hasLayout()) parse(engine.buildTokenizer());
    if (header) wants = null;
    at = end;
  }
  parse(engine.endOfFile(bytes.length));
}

/** An engine with a file loaded, and its `session`, which is deleted with it. */
export function load(opened, bytes, options = {}, size = undefined) {
  const engine = new opened.module.Engine();
  try {
    parse(engine.open(JSON.stringify(options), [bytes.length], 'sequential'));
    bring(opened, engine, bytes, size);
  } catch (error) {
    engine.delete();
    throw error;
  }
  engine.session = new opened.module.Session(engine);
  const end = engine.delete.bind(engine);
  engine.delete = () => {
    engine.session.delete();
    end();
  };
  return engine;
}

/** Steps a session's run to its end; returns the events. */
export function events(session) {
  const list = [];
  for (;;) {
    const event = parse(session.step());
    if (event.event === 'working') continue;
    list.push(event);
    if (event.event !== 'token') return list;
  }
}

/** {hash, top} of the logits after `ids`. */
export function logits({ session }, ids, batch = 0) {
  parse(session.startLogits(ids, batch, []));
  events(session);
  return parse(session.logits(5, 0));
}
