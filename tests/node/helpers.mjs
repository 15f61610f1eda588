// What the tests of the library in Node share: the built library, models, a hub, and a cache of their own.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { Hub } from '../../e2e/hub/server.mjs';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const BUNDLED = path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf');
export const PROGRAM = path.join(ROOT, 'build/release/sluice');
const MAKE_MODELS = path.join(ROOT, 'build/release/tests/make_models');

/** Why to skip a test: the native build is missing. Else false. */
export const NO_PROGRAM = [PROGRAM, MAKE_MODELS].every((file) => fs.existsSync(file))
  ? false
  : 'the native build is not there: npm test makes it';

const temporary = [];
after(() => temporary.forEach((folder) => fs.rmSync(folder, { recursive: true, force: true })));

export function temporaryFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-node-'));
  temporary.push(folder);
  return folder;
}

// The cache of the user stays as it is. Workers get a copy of the environment.
process.env.XDG_CACHE_HOME = temporaryFolder();
export const CACHE = path.join(process.env.XDG_CACHE_HOME, 'sluice');

export const { Engine, SluiceError, cache, configure, foldParts } = await import('@sluice/engine');

export const bundled = fs.readFileSync(BUNDLED);
/** The ids of the recorded hashes, and the hashes by the models' names and KV types. */
export const RECORDED = JSON.parse(
  fs.readFileSync(path.join(ROOT, 'tests/data/hashes.json'), 'utf8'),
);
export const HASHES = RECORDED.hashes['stories-q8_0'];

let made = null;
/** The path of a tiny model, which the native build makes. */
export function tiny(name) {
  if (made === null) {
    made = temporaryFolder();
    execFileSync(MAKE_MODELS, [made]);
  }
  return path.join(made, `${name}.gguf`);
}

/** The paths of the parts of a tiny model. */
export function splitTiny(name, parts) {
  const folder = temporaryFolder();
  execFileSync(MAKE_MODELS, [folder, '--split', String(parts)]);
  return Array.from({ length: parts }, (_, i) =>
    path.join(folder, `${name}-0000${i + 1}-of-0000${parts}.gguf`),
  );
}

/** The JSON lines that the program prints. */
export function program(...args) {
  const options = { encoding: 'utf8', input: '', maxBuffer: 1 << 26 };
  const out = execFileSync(PROGRAM, args, options);
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The path of a model that follows a script (e2e/scripted-model.ts, which is TypeScript). */
export async function scriptedModel(model) {
  const folder = temporaryFolder();
  const outfile = path.join(folder, 'scripted-model.mjs');
  const entryPoints = [path.join(ROOT, 'e2e/scripted-model.ts')];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm' });
  const { scriptedModelBytes } = await import(pathToFileURL(outfile).href);
  const file = path.join(folder, 'scripted.gguf');
  fs.writeFileSync(file, scriptedModelBytes(model));
  return file;
}

/** Runs the program beside the hub, which is in this process: {status, out, err}. */
export function beside(...args) {
  const child = spawn(PROGRAM, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  after(() => child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, out, err })));
}

export async function startHub() {
  const hub = await Hub.start();
  after(() => hub.close());
  return hub;
}

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** The key of an address in the cache. */
export const keyOf = (address) => sha256(address).slice(0, 32);

/** The endings of an entry's files that are there, without locks. */
export function filesOf(address) {
  const key = keyOf(address);
  const names = fs.existsSync(CACHE) ? fs.readdirSync(CACHE) : [];
  return names
    .filter((name) => name.startsWith(key) && name.split('.').length === 2)
    .map((name) => name.slice(key.length + 1))
    .filter((ending) => ending !== 'lock')
    .sort();
}

/** The text that a model writes at temperature 0. */
export async function greedy(engine, prompt = 'Once upon a time', maxTokens = 20) {
  const { text } = await engine.complete(prompt, { maxTokens, temperature: 0 });
  return text;
}

/** Runs the text of a module in a process, which finds the library: {child, ended: {code, signal, out, err}}. */
export function runScript(text, args = []) {
  const child = spawn(process.execPath, ['--input-type=module', '-', ...args], { cwd: ROOT });
  after(() => child.kill('SIGKILL'));
  child.stdin.end(text);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk) => (out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk) => (err += chunk));
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, out, err }));
  });
  return { child, ended };
}

/**
 * The same. The script has `Engine`, `cache`, `BUNDLED` and `args`, and `say(value)`, which sends a value; `next()` takes it, and
 * undefined at the end.
 */
export function script(text, args = {}) {
  const head = `
    import { Engine, SluiceError, cache } from '@sluice/engine';
    const BUNDLED = ${JSON.stringify(BUNDLED)};
    const args = ${JSON.stringify(args)};
    const say = (value) => console.log(JSON.stringify(value));
  `;
  const { child, ended } = runScript(head + text);
  const lines = [];
  const waiting = [];
  let rest = '';
  let over = false;
  child.stdout.on('data', (chunk) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop();
    for (const line of parts) {
      const take = waiting.shift();
      if (take === undefined) lines.push(line);
      else take(JSON.parse(line));
    }
  });
  const end = ended.then(({ code, signal, err }) => {
    over = true;
    for (const take of waiting) take(undefined);
    return { code, signal, err };
  });
  const next = () =>
    new Promise((resolve) => {
      const line = lines.shift();
      if (line !== undefined) resolve(JSON.parse(line));
      else if (over) resolve(undefined);
      else waiting.push(resolve);
    });
  return { child, next, ended: end };
}
